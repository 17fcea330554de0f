"""Collections of a graph: what a `model_fn` adds by name, and its variables (v1 layer)."""

import re
from collections.abc import Callable
from typing import Any

import keras

from stratax.base.typing import TensorLike
from stratax.tensorflow.v1._tensor_names import TensorNames

GLOBAL_STEP = "global_step"
# What is in these, the model says.
OF_VARIABLES = (GLOBAL_STEP, "variables", "trainable_variables")


class GraphCollections:
    """The collections of one trace.

    Args:
        names: Of what is added.
        variables_of: Gives the variables in a collection of `OF_VARIABLES`.
        named: What has a name of its own.
    """

    def __init__(
        self, names: TensorNames, variables_of: Callable[[str], list[Any]], named: type[Any]
    ) -> None:
        self._names = names
        self._variables_of = variables_of
        self._named = named
        self._collections: dict[str, list[Any]] = {}
        # By id of what is in a collection, which keeps it.
        self._item_names: dict[int, str] = {}

    def add(self, key: str, value: object) -> None:
        """Add to a collection, as `tf.add_to_collection`."""
        self.ref(key).append(value)
        # Tensors have no names of their own; TensorFlow's begin with the name scope.
        self._item_names[id(value)] = self._names.prefix

    def ref(self, key: str) -> list[Any]:
        """Return the list that a collection is; of those of variables, which are the model's, a copy."""
        if key in OF_VARIABLES:
            return self.get(key)
        return self._collections.setdefault(key, [])

    def get(self, key: str, scope: str | None = None) -> list[Any]:
        """Return a collection, as `tf.get_collection`.

        Args:
            key: Its name.
            scope: A regular expression: only what has a name that begins like this.
        """
        found = self._variables_of(key) if key in OF_VARIABLES else list(self._collections.get(key, ()))
        if scope is None:
            return found
        # As in TensorFlow the scope is a pattern for the beginning of names.
        return [value for value in found if re.match(scope, self._item_name(value))]

    def keys(self) -> list[str]:
        """Return the names of collections in which there is something."""
        of_variables = [key for key in OF_VARIABLES if self._variables_of(key)]
        return [*of_variables, *(key for key, values in self._collections.items() if values)]

    def _item_name(self, value: TensorLike) -> str:
        if isinstance(value, keras.Variable):
            return value.path
        return value.name if isinstance(value, self._named) else self._item_names.get(id(value), "")
