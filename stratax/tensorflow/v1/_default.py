"""What TensorFlow 2 keeps of a graph outside of a `model_fn`: collections, a global step, names (v1 layer)."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from stratax.base.shown import shown
from stratax.core import Variable

_GLOBAL_STEP = "global_step"


class _Collections:
    """Collections of what was added: variables are in none, as they belong to objects."""

    def __init__(self) -> None:
        self._collections: dict[str, list[Any]] = {}

    def clear(self) -> None:
        """Forget what was added."""
        self._collections.clear()

    def add(self, key: str, value: object) -> None:
        """Add to a collection, as `tf.add_to_collection`."""
        self.ref(key).append(value)

    def ref(self, key: str) -> list[Any]:
        """Return the list that a collection is, which may be changed."""
        return self._collections.setdefault(key, [])

    def get(self, key: str, scope: str | None = None) -> list[Any]:
        """Return what is in a collection; with a scope nothing, since what is there has no names."""
        return list(self._collections.get(key, ())) if scope is None else []

    def keys(self) -> list[str]:
        """Return the names of collections in which there is something."""
        return [key for key, values in self._collections.items() if values]


class _Names:
    """Names that were made unique; no tensor has one."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def clear(self) -> None:
        """Forget which were made."""
        self._counts.clear()

    def of(self, tensor: object) -> str:
        """Return a name: no tensor has one."""
        raise AttributeError(
            f"Tensors outside of a model_fn have no names. Received: tensor={shown(tensor)}."
        )

    def tensors(self) -> dict[str, Any]:
        """Return tensors by name: there are none."""
        return {}

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[str]:
        """Enter a scope of names, which nothing gets."""
        yield f"{name}/"

    def unique(self, name: str) -> str:
        """Return a name that was not returned before."""
        number = self._counts.get(name, 0)
        self._counts[name] = number + 1
        return f"{name}_{number}" if number else name


class DefaultGraph:
    """The graph that nothing is computed in; it has what programs read of that of a `model_fn`.

    Attributes:
        collections: Its collections.
        names: Names.
        graph: What `tf.get_default_graph` returns, once it is asked for.
        seed: None: TensorFlow 2 keeps the seed of its functions elsewhere.
    """

    def __init__(self) -> None:
        self.collections = _Collections()
        self.names = _Names()
        self.graph: Any = None
        self.seed: int | None = None

    def reset(self) -> None:
        """Forget what was added."""
        self.collections.clear()
        self.names.clear()

    def global_step(self) -> keras.Variable:
        """Return the global step, which is made at the first call."""
        steps = self.collections.ref(_GLOBAL_STEP)
        if not steps:
            # All replicas count the same steps.
            steps.append(Variable(0, trainable=False, name=_GLOBAL_STEP, aggregation="only_first_replica"))
        step: keras.Variable = steps[0]
        return step

    def operations(self) -> list[Any]:
        """Return operations: there are none."""
        return []


# TensorFlow's default graph: one of the process.
DEFAULT = DefaultGraph()
