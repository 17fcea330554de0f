"""What a replica holds of a variable between an assignment and the first look at it (distribute layer).

TensorFlow combines the values that replicas assign to a mirrored variable at the assignment. Here each replica goes on
with its *share*, of which the variable's value can be computed at any time: that takes a collective, which the first
one who looks at the variable pays for, and otherwise the end of the step, where all variables share one.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.core import host, regions
from stratax.distribute.replicas._exchange import over_replicas, replica_index, sum_over_replicas
from stratax.distribute.replicas._values import REPLICA_AXES

_AGGREGATED = frozenset({"sum", "mean", "only_first_replica"})


def is_aggregated(variable: keras.Variable) -> bool:
    """Return whether what replicas assign to a variable is combined at the assignment."""
    return variable.aggregation in _AGGREGATED and not is_on_read(variable)


def is_on_read(variable: keras.Variable) -> bool:
    """Return whether each replica has its own value of a variable, and they are combined outside of the replicas."""
    return variable.synchronization == "on_read"


class ReplicaShare(regions.Spread):
    """A replica's share of a variable whose assignments are combined.

    Of a sum it is a summand, of a mean a value that it is the mean of, else a value that counts on the first replica.

    Args:
        variable: The variable.
        num_replicas: How many replicas there are.
    """

    is_share = True

    def __init__(self, variable: keras.Variable, num_replicas: int) -> None:
        super().__init__(variable)
        self._num_replicas = num_replicas

    def check(self, value: object) -> None:
        if _is_whole_mean(self.variable) and isinstance(value, jax.core.Tracer):
            raise errors.BadArgumentError(
                "A variable of whole numbers can't be assigned the replicas' mean. Expected: a variable of floating "
                "point numbers, another aggregation, or an assignment outside of the replicas. Received: "
                f"{shown(self.variable.path)} of dtype {self.variable.dtype}."
            )

    def spread(self, value: object) -> Any:
        if self.variable.aggregation != "sum":
            return value
        return _share_of_sum(value)

    def merge(self, array: object) -> Any:
        return _value_of_share(self.variable, self._num_replicas, array)


@jax.custom_jvp
def _share_of_sum(value: object) -> Any:
    return first_only(value)


@_share_of_sum.defjvp
def _(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    # A replica's gradient is that of its own loss: to it, the variable is the variable, however it came to its value.
    return _share_of_sum(*primals), tangents[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _value_of_share(variable: keras.Variable, num_replicas: int, share: Any) -> Any:
    total = sum_over_replicas(summand(variable, num_replicas, share).astype(find_sum_dtype(share)))
    return total.astype(share.dtype)


@_value_of_share.defjvp
def _(variable: keras.Variable, num_replicas: int, primals: tuple[Any], tangents: tuple[Any]) -> Any:
    return _value_of_share(variable, num_replicas, *primals), tangents[0]


def summand(variable: keras.Variable, num_replicas: int, value: object) -> Any:
    """Return what a replica contributes to the sum over the replicas that becomes the variable's value."""
    value = jnp.asarray(value)
    if variable.aggregation == "sum":
        return value
    if variable.aggregation != "only_first_replica" and jnp.issubdtype(value.dtype, jnp.inexact):
        # The shares add up to the mean, so that sums and means travel in one collective.
        return value / num_replicas
    return first_only(value)


def first_only(value: Any) -> Any:
    """Return the first replica's value on that replica, and zeros on the others."""
    return jnp.where(replica_index() == 0, value, jnp.zeros_like(value))


def find_sum_dtype(value: Any) -> Any:
    # Of booleans only the first replica's share is not zero, so the sum is 0 or 1.
    return jnp.dtype(jnp.int32) if value.dtype == jnp.bool_ else value.dtype


def agree(value: object) -> Any:
    """Return the largest of the replicas' values, which are to be equal, or the program raises when it has run.

    Args:
        value: A number of iterations, or whether to go on, on which it depends how often replicas meet.
    """
    own = jnp.asarray(value)
    number = own.astype(jnp.int32)
    most, least = over_replicas(lambda each: jax.lax.pmax(each, REPLICA_AXES), jnp.stack([number, -number]))
    host.check(
        most == -least,
        [],
        lambda: (
            "Replicas take different ways through an `if` or a loop in which they meet: they combine values "
            "(all_reduce, all_gather, a gradient), or one looks at a variable with an aggregation that was assigned, "
            "and some don't come there. Expected: a condition that is equal on all replicas. Combine it with "
            "get_replica_context().all_reduce, or let them meet behind the `if` or the loop."
        ),
    )
    return most.astype(own.dtype)


def adding(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras' `assign_add`: what is added is combined, not the sum of it and the variable's value."""
    return _combining(original, jnp.add)


def subtracting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras' `assign_sub`; see :func:`adding`."""
    return _combining(original, jnp.subtract)


def _combining(original: Callable[..., Any], operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def assign(self: Any, value: Any, *options: object, **named: object) -> Any:
        if regions.share_of(self) is None:
            return original(self, value, *options, **named)
        if _is_whole_mean(self) and _is_constant(value):
            with regions.equal_on_all_replicas():
                return original(self, value, *options, **named)
        return self.assign(
            operation(regions.find_held(self), self._convert_to_tensor(value, dtype=self._dtype))
        )

    return assign


def assigning(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap Keras' `assign`: in a replica the variable's new value is not known before somebody looks at it."""

    @functools.wraps(original)
    def assign(self: object, value: object, *options: object, **named: object) -> Any:
        if regions.share_of(self) is None:
            return original(self, value, *options, **named)
        is_equal = _is_whole_mean(self) and _is_constant(value)
        with regions.equal_on_all_replicas() if is_equal else contextlib.nullcontext():
            original(self, value, *options, **named)
        return self

    return assign


def _is_whole_mean(variable: keras.Variable) -> bool:
    """Return whether the replicas' values have no mean, and only what is equal on all can be assigned."""
    return variable.aggregation == "mean" and not jnp.issubdtype(variable.dtype, jnp.inexact)


def _is_constant(value: object) -> bool:
    """Return whether a value of Python's or NumPy's stands in the program, and is the same on all replicas."""
    return isinstance(value, bool | int | float | np.ndarray | np.generic | list | tuple)
