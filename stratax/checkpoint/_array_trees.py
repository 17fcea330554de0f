"""Trees of arrays in a checkpoint, such as parameters of Flax NNX and states of Optax (checkpoint layer)."""

from collections.abc import Mapping

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.pytrees import path_of
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.checkpoint import _graph


class _Held(keras.Variable):
    """An array, in the form in which this package saves and restores values: belongs to nobody, and nobody reads it.

    Args:
        path: Where it stands in its tree.
        value: The array.
    """

    def __init__(self, path: str, value: jax.Array) -> None:
        # Past Keras, which would ask who is to keep it, and convert it.
        self._path = self._name = path
        self._shape, self._dtype = value.shape, keras.backend.standardize_dtype(value.dtype)
        self._layout = None
        self._trainable = False
        self._value = value


class ArrayTree(_graph.NamedVariables):
    """A tree with arrays, which are saved by their key paths; what else is in it stays as it is.

    Args:
        tree: The tree.
    """

    def __init__(self, tree: PyTree) -> None:
        super().__init__(self._find_held)
        leaves, self._treedef = jax.tree_util.tree_flatten_with_path(tree)
        self._given = tree
        self._leaves = [value for _, value in leaves]
        self._held = {
            position: _Held(path_of(keys), _data_of(value))
            for position, (keys, value) in enumerate(leaves)
            if isinstance(value, jax.Array)
        }
        self._values = {position: held._value for position, held in self._held.items()}

    def _find_held(self) -> Mapping[str, keras.Variable]:
        return {held.path: held for held in self._held.values()}

    @property
    def tree(self) -> PyTree:
        """The tree: the one that was given, until other values were restored."""
        if all(held._value is self._values[position] for position, held in self._held.items()):
            return self._given
        leaves = list(self._leaves)
        for position, held in self._held.items():
            leaves[position] = _of_data(held._value, self._leaves[position])
        return jax.tree.unflatten(self._treedef, leaves)


def find_tree(value: object) -> ArrayTree | None:
    """Return what saves a tree with arrays; None for what is saved otherwise, or not at all.

    Raises:
        BadTypeError: If an array in it is NumPy's.
    """
    try:
        leaves = jax.tree.leaves(value)
    except ValueError:
        # A dict whose keys JAX can't sort.
        return None
    is_tree = any(isinstance(leaf, jax.Array) for leaf in leaves)
    if not is_tree or any(isinstance(leaf, jax.core.Tracer) or _graph.is_saved(leaf) for leaf in leaves):
        return None
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            raise errors.BadTypeError(
                "A checkpoint saves arrays of JAX in a tree. Expected: no array of NumPy among them. Received: "
                f"{shown(leaf)}. Convert it with `jax.numpy.asarray`, or hold it in a `stratax.Variable`."
            )
    return ArrayTree(value)


def _data_of(value: jax.Array) -> jax.Array:
    """Return an array that files can hold: of keys of `jax.random` their numbers."""
    return jax.random.key_data(value) if _is_key(value) else value


def _of_data(data: jax.Array, like: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(data, impl=jax.random.key_impl(like)) if _is_key(like) else data


def _is_key(value: jax.Array) -> bool:
    return jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
