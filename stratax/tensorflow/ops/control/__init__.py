"""Decide, repeat, check, and call Python."""
