"""The `stratax` command (top layer): what is here, and a demonstration."""

from stratax.cli._main import main

__all__ = ["main"]
