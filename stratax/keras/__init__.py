"""What makes `Model.fit`, `evaluate` and `predict` follow a strategy. Importing it installs the hooks."""

from stratax.keras import _compile
from stratax.keras._creator import DatasetCreator

_compile.install()

__all__ = ["DatasetCreator"]
