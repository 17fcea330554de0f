"""What TensorFlow's variables mean in conditions, in loops and among bits, and Keras' do not (keras2 layer)."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import keras

from stratax.base.shown import shown
from stratax.errors import BadTypeError
from stratax.seams import keras2 as seam

_VARIABLE = "keras.src.backend.common.variables:Variable"


def install() -> None:
    """Put the operators in place; safe to call again."""
    for name, combine in (("and", jnp.bitwise_and), ("or", jnp.bitwise_or), ("xor", jnp.bitwise_xor)):
        for side in ("", "r"):
            seam.widen(f"{_VARIABLE}.__{side}{name}__", functools.partial(_of_bits, combine))
    seam.widen(f"{_VARIABLE}.__bool__", lambda original: _is_true)
    seam.add(f"{_VARIABLE}.__iter__", _iterate)


def _of_bits(combine: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """Combine whole numbers bit by bit, of which Keras asks which are 0."""

    @functools.wraps(original)
    def operator(self: keras.Variable, other: Any) -> Any:
        if jnp.issubdtype(self.dtype, jnp.integer):
            return combine(jnp.asarray(self.value), jnp.asarray(other))
        return original(self, other)

    return operator


def _is_true(self: keras.Variable) -> bool:
    return bool(jnp.asarray(self.value))


def _iterate(self: keras.Variable) -> Iterator[Any]:
    if not self.shape:
        raise BadTypeError(
            f"A variable without dimensions has no rows to iterate over. Received: {shown(self.path)}."
        )
    return (self[row] for row in range(self.shape[0]))
