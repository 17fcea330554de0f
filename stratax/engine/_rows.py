"""The rows of several prediction steps, which stay where they were computed until they are read (engine layer)."""

import functools
import operator
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.distribute.replicas import StepsPerReplica, is_per_replica

_BINARY = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = ("neg", "pos", "abs", "invert")


class OutputRows:
    """The outputs of all examples of several steps, in the order of the examples.

    They can be used as the array that they stand for: indexed, computed with, given to NumPy, JAX and Keras. Until
    then each replica's rows of each step are on its device. In the order of the examples they are divided among the
    replicas step by step, which JAX has no sharding for: a program that gave them so would send each replica's rows
    to all others. NumPy reads them from their devices; anything else puts them in order on the devices first, once.

    Args:
        stacked: Shape ``(steps, num_replicas, num_examples, ...)``, the second dimension divided among the replicas.

    Example:
        >>> rows = OutputRows(jnp.arange(12).reshape(2, 2, 3))
        >>> rows.shape, np.asarray(rows).tolist(), int(rows[4])
        ((12,), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 4)
    """

    # Arrays leave operators with it to this class.
    __array_priority__ = 1000
    # A comparison gives an array, as of arrays.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, stacked: Any) -> None:
        self._stacked = stacked

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, of which the first dimension counts the examples of all steps."""
        steps, replicas, examples, *rest = self._stacked.shape
        return (steps * replicas * examples, *rest)

    @property
    def dtype(self) -> np.dtype:
        """The dtype."""
        return np.dtype(self._stacked.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._stacked.size)

    def block_until_ready(self) -> "OutputRows":
        """Wait until they are computed."""
        self._stacked.block_until_ready()
        return self

    @functools.cached_property
    def _in_order(self) -> jax.Array:
        return jnp.reshape(self._stacked, self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        # On this machine: nothing is sent between the devices.
        array = np.asarray(self._stacked).reshape(self.shape)
        return np.array(array, dtype, copy=copy)

    def __jax_array__(self) -> jax.Array:
        return self._in_order

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[jax.Array]:
        return iter(self._in_order)

    def __getitem__(self, key: object) -> jax.Array:
        return self._in_order[key]

    def __bool__(self) -> bool:
        return bool(self._in_order)

    def __float__(self) -> float:
        return float(self._in_order)

    def __int__(self) -> int:
        return int(self._in_order)

    def __getattr__(self, name: str) -> Any:
        # What copies and pickles ask for before there is an array; the rest is what arrays have.
        if name.startswith("_"):
            raise AttributeError(f"'OutputRows' object has no attribute {shown(name)}")
        return getattr(self._in_order, name)

    def __repr__(self) -> str:
        return repr(self._in_order)


def _array(value: object) -> Any:
    return value._in_order if isinstance(value, OutputRows) else value


def _add_operators() -> None:
    """Have operators compute with the array, as those of arrays do."""

    def forward(compute: Any) -> Any:
        return lambda self, *others: compute(_array(self), *map(_array, others))

    def backward(compute: Any) -> Any:
        return lambda self, other: compute(_array(other), _array(self))

    for name in (*_BINARY, *_COMPARISONS, *_UNARY):
        setattr(OutputRows, f"__{name.rstrip('_')}__", forward(getattr(operator, name)))
    for name in _BINARY:
        setattr(OutputRows, f"__r{name.rstrip('_')}__", backward(getattr(operator, name)))


_add_operators()


def as_rows(outputs: PyTree) -> Any:
    """Return what a program of several steps gave with :class:`OutputRows` where each replica has its own."""
    return jax.tree.map(
        lambda leaf: OutputRows(leaf.stacked) if isinstance(leaf, StepsPerReplica) else leaf,
        outputs,
        is_leaf=is_per_replica,
    )
