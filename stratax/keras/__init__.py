"""What makes `Model.fit`, `evaluate` and `predict` follow a strategy. Importing it installs the hooks."""

from stratax.keras import _compile
from stratax.keras._creator import DatasetCreator
from stratax.ops import classes

_compile.install()
classes.install_in_keras()

__all__ = ["DatasetCreator"]
