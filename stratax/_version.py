"""Stratax's version, in one place (the lowest layer)."""

__version__ = "0.1.0"
