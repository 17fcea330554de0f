"""What TensorFlow 2 keeps of a graph outside of a `model_fn`: collections, a global step, names (v1 layer)."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from stratax.base.shown import shown
from stratax.core import Variable

_GLOBAL_STEP = "global_step"


class DefaultGraph:
    """The graph that nothing is computed in: variables are in none of its collections, as they belong to objects."""

    def __init__(self) -> None:
        self._collections: dict[str, list[Any]] = {}
        self._names: dict[str, int] = {}
        self.graph: Any = None
        # TensorFlow 2 keeps the seed of its functions elsewhere.
        self.seed: int | None = None

    def reset(self) -> None:
        """Forget what was added."""
        self._collections.clear()
        self._names.clear()

    def add_to_collection(self, key: str, value: object) -> None:
        """Add to a collection, as `tf.add_to_collection`."""
        self.get_collection_ref(key).append(value)

    def get_collection_ref(self, key: str) -> list[Any]:
        """Return the list that a collection is, which may be changed."""
        return self._collections.setdefault(key, [])

    def get_collection(self, key: str, scope: str | None = None) -> list[Any]:
        """Return what is in a collection; with a scope nothing, since what is there has no names."""
        return list(self._collections.get(key, ())) if scope is None else []

    def global_step(self) -> keras.Variable:
        """Return the global step, which is made at the first call."""
        steps = self.get_collection_ref(_GLOBAL_STEP)
        if not steps:
            steps.append(Variable(0, trainable=False, name=_GLOBAL_STEP, aggregation="only_first_replica"))
        step: keras.Variable = steps[0]
        return step

    def collection_keys(self) -> list[str]:
        """Return the names of collections in which there is something."""
        return [key for key, values in self._collections.items() if values]

    def operations(self) -> list[Any]:
        """Return operations: there are none."""
        return []

    def name_of(self, tensor: object) -> str:
        """Return a name: no tensor has one."""
        raise AttributeError(
            f"Tensors outside of a model_fn have no names. Received: tensor={shown(tensor)}."
        )

    def tensors(self) -> dict[str, Any]:
        """Return tensors by name: there are none."""
        return {}

    @contextlib.contextmanager
    def name_scope(self, name: str) -> Iterator[str]:
        """Enter a scope of names, which nothing gets."""
        yield f"{name}/"

    def unique_name(self, name: str) -> str:
        """Return a name that was not returned before."""
        number = self._names.get(name, 0)
        self._names[name] = number + 1
        return f"{name}_{number}" if number else name


# TensorFlow's default graph: one of the process.
DEFAULT = DefaultGraph()
