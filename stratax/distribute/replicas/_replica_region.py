"""What variables mean inside one replica, and how the replicas' versions become one again (distribute layer)."""

import abc
import dataclasses
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import keras
from jax.extend import core as jax_core
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax.core import regions
from stratax.distribute.replicas._contexts import in_cross_replica_context
from stratax.distribute.replicas._exchange import merged_or_packed, sum_over_replicas
from stratax.distribute.replicas._values import REPLICA_AXIS

# Odd, so that multiplying by it keeps 32-bit numbers distinct, and without structure (2**32 / golden ratio).
_FOLD = 0x9E3779B9
# A second one of the same name in a `model_fn` has a number behind it.
_SEED_STATE = re.compile(r"(.*/)?seed_generator_state(_\d+)?(:0)?")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PostponedUpdate:
    """An update of variables with arrays that are equal on all replicas.

    Attributes:
        make: Makes the update with a list of arrays, in the region that is current then.
        arrays: The arrays.
        variables: The ids of the variables that it changes.
    """

    make: Callable[[list[Any]], None]
    arrays: list[Any]
    variables: frozenset[int]


class PostponesUpdates(abc.ABC):
    """Capability of a region: an optimizer's update can be left to be made in one place, after what is traced in it."""

    @abc.abstractmethod
    def postpone(self, update: PostponedUpdate) -> None:
        """Leave an update to be made once; one whose variables are used again is made at once."""


class ReplicaRegion(regions.Region, PostponesUpdates):
    """The region of a function that runs once per replica, inside `shard_map`.

    How a variable that replicas change differently becomes one value again follows its `aggregation`, as in
    TensorFlow: metrics (`"sum"`) start from zero on every replica but the first and are added up, so that each
    update counts once; `"only_first_replica"` takes the first replica's; all others are averaged (BatchNorm's
    statistics) or, where they are no floating point numbers, the first replica's. Variables that an optimizer wrote
    are equal already, because gradients were reduced before. The states of seed generators differ between replicas
    while they run: the replica's index is folded in.

    Args:
        parent: The region that `strategy.run` was called in.
        num_replicas: How many replicas there are.
        local: The replica's own values of variables that stay spread over the replicas, by the variables' ids.
    """

    parent: regions.Region

    def __init__(
        self, parent: regions.Region, num_replicas: int, local: dict[int, Any] | None = None
    ) -> None:
        super().__init__(parent)
        self._local = local or {}
        self._num_replicas = num_replicas
        self.postponed: list[PostponedUpdate] = []

    def get_current_value(self, variable: keras.Variable) -> Any:
        # Read before it is updated, a variable would have the value of before the optimizer's step.
        self._catch_up(variable)
        value = super().get_current_value(variable)
        return sum_over_replicas(value) if _is_one_of_shares(variable) else value

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        variable, value = update
        self._catch_up(variable)
        if _is_one_of_shares(variable):
            # What is assigned for all replicas counts once.
            whole = jnp.asarray(value)
            value = jnp.where(jax.lax.axis_index(REPLICA_AXIS) == 0, whole, jnp.zeros_like(whole))
        super().add_update((variable, value))

    def postpone(self, update: PostponedUpdate) -> None:
        self.postponed.append(update)

    def _catch_up(self, variable: keras.Variable) -> None:
        # A variable of the update is looked at, so the update has to be made here.
        # A copy: an update that is made may read variables, and come back here.
        for update in list(self.postponed):
            if id(variable) in update.variables:
                self.postponed.remove(update)
                update.make(update.arrays)

    def lift(self, variable: keras.Variable) -> Any:
        if id(variable) in self._local:
            return self._local[id(variable)]
        value = self.parent.get_current_value(variable)
        with jax_core.set_current_trace(self.trace):
            if is_seed_state(variable):
                # Replica 0 keeps the state as it is, and draws what one device would.
                index = jax.lax.axis_index(REPLICA_AXIS).astype(value.dtype)
                fold = jnp.stack([index * jnp.asarray(_FOLD, value.dtype), jnp.zeros((), value.dtype)])
                return jnp.bitwise_xor(value, fold)
            if variable.aggregation == "sum":
                # The state so far counts once; the others add what they see.
                return jnp.where(jax.lax.axis_index(REPLICA_AXIS) == 0, value, jnp.zeros_like(value))
        return value

    def is_first_party(self) -> Any:
        return jax.lax.axis_index(REPLICA_AXIS) == 0

    def differing(self) -> list[keras.Variable]:
        """Return the variables whose values differ between replicas, in the order of `writes`."""
        # Agreement or not, a sum began at zero on all replicas but the first.
        return [v for k, v in self.writes.items() if k not in self.in_agreement or v.aggregation == "sum"]

    def merged(self) -> tuple[list[keras.Variable], list[Any]]:
        """Combine the variables that were written and do not stay spread into one value; one collective per dtype."""
        # Those that stay spread (a loop carries them) are merged behind the loop, once.
        variables = [v for key, v in self.writes.items() if key not in self._local]
        values = [self.final_value(variable) for variable in variables]
        differing = {id(variable) for variable in self.differing()}
        to_sum = [index for index, variable in enumerate(variables) if id(variable) in differing]
        shares = [self._share(variables[index], values[index]) for index in to_sum]
        totals = merged_or_packed(_merged_sum, _packed_sum, shares) if shares else []
        for index, total in zip(to_sum, totals, strict=True):
            values[index] = total.astype(values[index].dtype)
        return variables, values

    def _share(self, variable: keras.Variable, value: object) -> Any:
        """Return what this replica contributes to the sum that becomes the variable's value."""
        value = jnp.asarray(value)
        if variable.aggregation == "sum":
            return value
        if _is_averaged(variable, value.dtype):
            # The shares add up to the mean, so that sums and means travel in one collective.
            return value / self._num_replicas
        # The first replica's value, as a sum in which the others are zero.
        return jnp.where(jax.lax.axis_index(REPLICA_AXIS) == 0, value, jnp.zeros_like(value))


class ReplicaSpread(regions.Spread):
    """What the replicas hold of a variable between the iterations of a loop.

    Args:
        variable: The variable.
        mesh: The mesh of the replicas.
    """

    def __init__(self, variable: keras.Variable, mesh: Mesh) -> None:
        super().__init__(variable)
        self._mesh = mesh

    def spread(self, value: Any) -> Any:
        """See `Spread.spread`; the leading dimension counts replicas. The inverse of :meth:`merge`."""
        count = self._mesh.size
        array = jnp.broadcast_to(value, (count, *value.shape))
        if is_seed_state(self.variable):
            # As `ReplicaRegion.lift` does for one replica: both have to draw the same numbers.
            folds = jnp.arange(count, dtype=value.dtype) * jnp.asarray(_FOLD, value.dtype)
            array = jnp.bitwise_xor(array, jnp.stack([folds, jnp.zeros_like(folds)], 1))
        elif self.variable.aggregation == "sum":
            first = jnp.arange(count).reshape(-1, *(1,) * value.ndim) == 0
            array = jnp.where(first, array, jnp.zeros_like(array))
        return jax.lax.with_sharding_constraint(array, NamedSharding(self._mesh, PartitionSpec(REPLICA_AXIS)))

    def merge(self, array: Any) -> Any:
        if self.variable.aggregation == "sum":
            # JAX would widen small integers, and a loop's carry keeps its dtype.
            return jnp.sum(array, 0, dtype=array.dtype)
        return jnp.mean(array, 0) if _is_averaged(self.variable, array.dtype) else array[0]


def _is_averaged(variable: keras.Variable, dtype: Any) -> bool:
    """Return whether replicas' values become their mean; else, where they are not added up, they become the first's."""
    floating = jnp.issubdtype(dtype, jnp.floating)
    return bool(floating) and variable.aggregation != "only_first_replica" and not is_seed_state(variable)


def _is_one_of_shares(variable: keras.Variable) -> bool:
    """Return whether replicas hold shares of a variable that add up, and all of it is read or written: `merge_call`."""
    return variable.aggregation == "sum" and in_cross_replica_context()


def is_seed_state(variable: keras.Variable) -> bool:
    """Return whether a variable is the state of a `keras.random.SeedGenerator`."""
    # Keras 3.15 gives the variable this name, and no reference to its generator; in a `model_fn` it is the last part.
    return _SEED_STATE.fullmatch(variable.name) is not None and tuple(variable.shape) == (2,)


def _merged_sum(values: list[Any]) -> list[Any]:
    """Sum over the replicas, each value by itself."""
    totals: list[Any] = sum_over_replicas([value.astype(_summed_dtype(value)) for value in values])
    return totals


def _packed_sum(values: list[Any]) -> list[Any]:
    """Sum over the replicas, all values of one dtype in one buffer."""
    by_dtype: dict[Any, list[int]] = {}
    for index, value in enumerate(values):
        by_dtype.setdefault(_summed_dtype(value), []).append(index)
    results: list[Any] = [None] * len(values)
    for dtype, indices in by_dtype.items():
        flat = jnp.concatenate([jnp.ravel(values[index]).astype(dtype) for index in indices])
        total = sum_over_replicas(flat)
        start = 0
        for index in indices:
            size = values[index].size
            results[index] = total[start : start + size].reshape(values[index].shape)
            start += size
    return results


def _summed_dtype(value: Any) -> Any:
    # Of booleans only the first replica's share is not zero, so the sum is 0 or 1.
    return jnp.dtype(jnp.int32) if value.dtype == jnp.bool_ else value.dtype
