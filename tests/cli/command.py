"""The `stratax` command as its tests call it."""

from stratax.cli._main import program, run

__all__ = ["program", "run"]
