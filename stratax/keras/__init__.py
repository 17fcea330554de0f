"""What makes `Model.fit`, `evaluate` and `predict` follow a strategy. Importing it installs the hooks."""

from stratax.keras import _compile
from stratax.keras._creator import DatasetCreator

_compile.install()
# As doors have it, which this package is none of.
DatasetCreator.__module__ = __name__

__all__ = ["DatasetCreator"]
