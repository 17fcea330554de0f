"""Transforms and windows of signals."""
