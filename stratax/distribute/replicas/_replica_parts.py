"""Variables of which each replica keeps its own value from one step to the next, as in TensorFlow (distribute layer).

These are variables without an aggregation, such as the state of a stateful RNN, which belongs to a replica's rows, and
variables of a program that are synchronized on read. A variable gets its parts when replicas first assign it: until
then all have one value.
"""

import functools
import re
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import keras
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.core import regions, state, storage
from stratax.distribute.replicas._replica_share import is_on_read
from stratax.distribute.replicas._values import REPLICA_AXES, PerReplica, count_replicas

# A second one of the same name in a `model_fn` has a number behind it.
_SEED_STATE = re.compile(r"(.*/)?seed_generator_state(_\d+)?(:0)?")
# The attribute of variables that replicas assign alike, though nothing says so.
_EQUAL = "_stratax_equal"
# The attribute of variables whose rows are divided among the replicas.
_ROWS = "_stratax_rows"


class ReplicaParts(state.Parts):
    """The values that the replicas have of a variable, one each.

    Args:
        variable: The variable, which has a value.
        mesh: The mesh of the replicas.
    """

    def __init__(self, variable: keras.Variable, mesh: Mesh) -> None:
        super().__init__(variable, NamedSharding(mesh, PartitionSpec(REPLICA_AXES)))
        self.mesh = mesh

    def shape_of_one(self, variable: keras.Variable, count: int) -> tuple[int, ...]:
        shape = super().shape_of_one(variable, count)
        return (shape[0] // count, *shape[1:]) if has_divided_rows(variable) else shape

    def spread(self, value: Any) -> Any:
        if has_divided_rows(self.variable):
            return jax.lax.with_sharding_constraint(jnp.reshape(value, self._shape), self.sharding)
        return _spread(value, self.sharding, self.variable.aggregation == "sum")

    def merge(self, array: Any) -> Any:
        if has_divided_rows(self.variable):
            return jnp.reshape(array, (-1, *array.shape[2:]))
        if self.variable.aggregation == "sum":
            return jnp.sum(array, 0, dtype=array.dtype)
        if self.variable.aggregation == "mean" and jnp.issubdtype(array.dtype, jnp.inexact):
            return jnp.mean(array, 0)
        return array[0]

    def divide(self, value: object) -> Any:
        # Where it is on other devices, a program over all replicas' can't take it.
        return self.spread(storage.place(value, NamedSharding(self.mesh, PartitionSpec())))


@functools.partial(jax.jit, static_argnums=(1, 2))
def _spread(value: Any, sharding: NamedSharding, is_sum: bool) -> Any:
    """Return each replica's value of one for all: the same, or its part of a sum."""
    count = count_replicas(sharding.mesh)
    array = jnp.broadcast_to(value, (count, *value.shape))
    if is_sum and jnp.issubdtype(array.dtype, jnp.inexact):
        array = array / count
    elif is_sum:
        # The first replica has what is left over.
        array = (array // count).at[0].add(value % count)
    return jax.lax.with_sharding_constraint(array, sharding)


def parts_on(variable: keras.Variable, mesh: Mesh) -> ReplicaParts | None:
    """Return the parts that replicas on the devices of a mesh have of a variable, if there are."""
    found = state.parts_of(variable)
    return found if isinstance(found, ReplicaParts) and found.mesh == mesh else None


def ensure_parts(variable: keras.Variable, mesh: Mesh) -> ReplicaParts:
    """Return the parts that replicas have of a variable, which has them from now on."""
    found = parts_on(variable, mesh)
    if found is None:
        found = ReplicaParts(variable, mesh)
        state.give_parts(found)
    return found


def values_of_replicas(variable: keras.Variable, mesh: Mesh) -> PerReplica:
    """Return what each replica has of a variable, for code outside of the replicas; without parts all have the same.

    Raises:
        TraceAgainError: If the program that is traced has yet to learn of the variable's parts.
    """
    kept = parts_on(variable, mesh)
    region = regions.current_region()
    if region is None:
        return PerReplica((ReplicaParts(variable, mesh) if kept is None else kept)._value)
    if kept is None:
        return PerReplica(ReplicaParts(variable, mesh).spread(region.get_current_value(variable)))
    known = region.find_known_parts()
    if known is not None and all(each is not kept for each in known):
        raise regions.TraceAgainError([kept])
    return PerReplica(region.get_current_value(kept))


def belongs_to_replicas(variable: keras.Variable) -> bool:
    """Return whether each replica keeps what it assigns to a variable for itself."""
    if is_on_read(variable):
        # Metrics and statistics become one value at the end of each step, as if one device had seen all examples.
        return state.is_marked_kept(variable)
    return variable.aggregation == "none" and not is_seed_state(variable)


def is_seed_state(variable: keras.Variable) -> bool:
    """Return whether a variable is the state of a `keras.random.SeedGenerator`."""
    # Keras 3.15 gives the variable this name, and no reference to its generator; in a `model_fn` it is the last part.
    return _SEED_STATE.fullmatch(variable.name) is not None and tuple(variable.shape) == (2,)


def is_equal_by_itself(variable: keras.Variable) -> bool:
    """Return whether what replicas assign to a variable is equal on all of them, as what it is computed of is."""
    return _EQUAL in variable.__dict__


def mark_equal(variables: Iterable[keras.Variable]) -> None:
    """Note that replicas assign variables alike."""
    for variable in variables:
        variable.__dict__[_EQUAL] = True


def has_divided_rows(variable: keras.Variable) -> bool:
    """Return whether each replica has its rows of a variable, and everybody else all of them."""
    return _ROWS in variable.__dict__


def mark_rows(variables: Iterable[keras.Variable]) -> None:
    """Note that each replica has its rows of variables, which are as many as those of the global batch."""
    for variable in variables:
        variable.__dict__[_ROWS] = True


def mark_statistics(variables: Iterable[keras.Variable]) -> None:
    """Have the replicas' mean be the value of variables at the end of each step, and within it each replica's own."""
    for variable in variables:
        # What Keras 2 asks for when it makes them; Keras 3 asks for nothing.
        variable._aggregation, variable._synchronization = "mean", "on_read"
