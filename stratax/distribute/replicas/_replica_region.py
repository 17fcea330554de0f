"""What variables mean inside one replica, and how the replicas' versions become one again (distribute layer)."""

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
from jax.extend import core as jax_core
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import regions, storage
from stratax.distribute.replicas._contexts import in_cross_replica_context
from stratax.distribute.replicas._divided import gather_whole, gathering_of, spec_on
from stratax.distribute.replicas._exchange import (
    merge_or_pack,
    over_replicas,
    replica_index,
    sum_over_replicas,
)
from stratax.distribute.replicas._replica_parts import (
    ReplicaParts,
    belongs_to_replicas,
    has_divided_rows,
    is_equal_by_itself,
    is_seed_state,
    parts_on,
)
from stratax.distribute.replicas._replica_share import (
    ReplicaShare,
    agree,
    find_sum_dtype,
    first_only,
    is_aggregated,
    is_on_read,
    summand,
)
from stratax.distribute.replicas._values import REPLICA_AXES, SHARD_AXIS, count_replicas
from stratax.seams.jax import identity_of

# Odd, so that multiplying by it keeps 32-bit numbers distinct, and without structure (2**32 / golden ratio).
_FOLD = 0x9E3779B9


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class PostponedUpdate:
    """An update of variables with arrays that are equal on all replicas.

    Attributes:
        make: Makes the update with a list of arrays, in the region that is current then.
        arrays: The arrays.
        variables: The ids of the variables that it changes.
        specs: For each array how it is divided among the devices of a group, which have parts of it; None for those
            that are whole.
    """

    make: Callable[[list[Any]], None]
    arrays: list[Any]
    variables: frozenset[int]
    specs: Sequence[PartitionSpec | None]

    def make_here(self) -> None:
        """Make the update in the replica."""
        self.make(
            [
                array if spec is None else gather_whole(array, spec)
                for array, spec in zip(self.arrays, self.specs, strict=True)
            ]
        )


class PostponesUpdates(abc.ABC):
    """Capability of a region: an optimizer's update can be left to be made in one place, after what is traced in it."""

    @abc.abstractmethod
    def postpone(self, update: PostponedUpdate) -> None:
        """Leave an update to be made once; one whose variables are used again is made at once."""

    def spec_of(self, variable: keras.Variable) -> PartitionSpec | None:
        """Return how arrays that an update of a variable is given are divided among devices; None for whole ones."""
        return None

    def find_reduced(self, gradient: object) -> tuple[Any, Any]:
        """Return what is not reduced of a gradient, and the part of what is; None for nothing."""
        return gradient, None


class ReplicaRegion(regions.Region, PostponesUpdates):
    """The region of a function that runs once per replica, inside `shard_map`.

    How a variable that replicas change differently becomes one value again follows its `aggregation`, as in
    TensorFlow. One with an aggregation has the combined value from an assignment on: a replica holds its `ReplicaShare`
    until somebody looks at the variable, or to the end. Metrics (a sum that is synchronized on read) start from zero on
    every replica but the first and are added up at the end, so that each update counts once; statistics, such as
    BatchNorm's, are averaged there. All others are each replica's own from one step to the next (`ReplicaParts`).
    Variables that an optimizer wrote are equal already, because gradients were reduced before. The states of seed
    generators differ between replicas while they run: the replica's index is folded in.

    Args:
        parent: The region that `strategy.run` was called in.
        mesh: The replicas' devices.
        local: The replica's own values of variables that stay spread over the replicas, by the variables' ids.
        divided: This device's parts of variables that a group of devices has in parts, by the variables' ids; None
            where the trace only finds out which ones are read.
    """

    parent: regions.Region

    def __init__(
        self,
        parent: regions.Region,
        mesh: Mesh,
        local: dict[int, Any] | None = None,
        divided: dict[int, Any] | None = None,
    ) -> None:
        super().__init__(parent)
        self._divided_parts = divided
        # What was gathered, and how, by identity.
        self._gathered: dict[int, tuple[Any, regions.Gathering]] = {}
        # What was converted before it was gathered, by the variable's id and the dtype.
        self._converted: dict[tuple[int, Any], Any] = {}
        # Gradients that are reduced in parts already, with the rest and the part, by identity.
        self._reduced: dict[int, tuple[Any, Any, Any]] = {}
        # The variables that are read and that devices have in parts, by their ids.
        self.divided: dict[int, keras.Variable] = {}
        self._local = local or {}
        self._mesh = mesh
        self._num_replicas = count_replicas(mesh)
        # The variables with parts that were used, and those that are to get parts, by their ids.
        self.kept: dict[int, ReplicaParts] = {}
        self.to_keep: dict[int, keras.Variable] = {}
        self._shares_of: dict[int, ReplicaShare] = {}
        self.postponed: list[PostponedUpdate] = []

    def get_current_value(self, variable: keras.Variable) -> Any:
        # Read before it is updated, a variable would have the value of before the optimizer's step.
        self._catch_up(regions.variable_of(variable))
        dtype = self.find_conversion(variable)
        gathering = None if dtype is None else self.find_gathering(variable)
        if gathering is not None:
            return self._convert_and_gather(variable, gathering, dtype)
        value = super().get_current_value(variable)
        return self._value_of_all(variable, value) if _is_of_all(variable) else value

    def add_update(self, update: tuple[keras.Variable, Any]) -> None:
        variable, value = update
        self._catch_up(regions.variable_of(variable))
        if isinstance(variable, ReplicaShare):
            super().add_update(update)
            return
        if _is_of_all(variable) and variable.aggregation == "sum":
            # What is assigned for all replicas counts once.
            is_divided = id(variable) in self._local and jnp.issubdtype(jnp.result_type(value), jnp.inexact)
            value = value / self._num_replicas if is_divided else first_only(jnp.asarray(value))
        kept = parts_on(variable, self._mesh)
        if kept is not None:
            self.kept[id(variable)] = kept
        is_equal = is_equal_by_itself(variable) or in_cross_replica_context()
        with regions.equal_on_all_replicas() if is_equal else contextlib.nullcontext():
            super().add_update((variable, value))
        if kept is None and id(variable) in self.writes and id(variable) not in self.in_agreement:
            self._note_own(variable)

    def _note_own(self, variable: keras.Variable) -> None:
        if belongs_to_replicas(variable):
            self.to_keep[id(variable)] = variable

    def _value_of_all(self, variable: keras.Variable, value: object) -> Any:
        """Return the one value of a variable of which this replica has its own."""
        return ReplicaShare(variable, self._num_replicas).merge(value)

    def share_of(self, variable: keras.Variable) -> ReplicaShare | None:
        if not is_aggregated(variable) or in_cross_replica_context():
            return None
        if id(variable) not in self._shares_of:
            self._shares_of[id(variable)] = ReplicaShare(variable, self._num_replicas)
        return self._shares_of[id(variable)]

    def agree(self, value: object) -> Any:
        return agree(value)

    def gather(self, value: object) -> Any:
        return over_replicas(lambda own: jax.lax.all_gather(own, REPLICA_AXES), value)

    def postpone(self, update: PostponedUpdate) -> None:
        self.postponed.append(update)

    def spec_of(self, variable: keras.Variable) -> PartitionSpec | None:
        return spec_on(variable, self._mesh)

    def find_sharding(self, variable: keras.Variable) -> None:
        # A replica has the whole.
        return None

    def _catch_up(self, variable: keras.Variable) -> None:
        # A variable of the update is looked at, so the update has to be made here.
        # A copy: an update that is made may read variables, and come back here.
        for update in list(self.postponed):
            if id(variable) in update.variables:
                self.postponed.remove(update)
                update.make_here()

    def lift(self, variable: keras.Variable) -> Any:
        if isinstance(variable, ReplicaShare):
            key = id(variable.variable)
            return self._local[key] if key in self._local else self._spread_share(variable)
        kept = parts_on(variable, self._mesh)
        has_rows = has_divided_rows(variable)
        if kept is None and (has_rows or is_on_read(variable)):
            self._note_own(variable)
            kept = parts_on(variable, self._mesh)
        if kept is not None:
            self.kept[id(variable)] = kept
            return self._own_part(kept)
        if id(variable) in self._local:
            own = self._local[id(variable)]
            share = self.share_of(variable)
            return own if share is None else share.merge(own)
        value = self._value_around(variable)
        with jax_core.set_current_trace(self.trace):
            if is_seed_state(variable):
                # Replica 0 keeps the state as it is, and draws what one device would.
                index = replica_index().astype(value.dtype)
                fold = jnp.stack([index * jnp.asarray(_FOLD, value.dtype), jnp.zeros((), value.dtype)])
                return jnp.bitwise_xor(value, fold)
            if variable.aggregation == "sum" and is_on_read(variable):
                # The state so far counts once; the others add what they see.
                return first_only(value)
            # Of the right shape, for a trace that finds out that they are to be the replica's own.
            return value[: value.shape[0] // self._num_replicas] if has_rows else value

    def _value_around(self, variable: keras.Variable) -> Any:
        """Return the value that a variable has where the replicas are run."""
        gathering = self._gathering_of(variable)
        return self.parent.get_current_value(variable) if gathering is None else self._gather(gathering)

    def _gather(self, gathering: regions.Gathering) -> Any:
        with jax_core.set_current_trace(self.trace):
            whole = gathering()
        self._gathered[identity_of(whole)] = whole, gathering
        return whole

    def _convert_and_gather(self, variable: keras.Variable, gathering: regions.Gathering, dtype: str) -> Any:
        key = id(variable), dtype
        if key not in self._converted:
            with jax_core.set_current_trace(self.trace):
                self._converted[key] = gathering.gather(gathering.part.astype(dtype))
        storage.notify(variable, self._converted[key])
        return self._converted[key]

    def convert_again(self, value: object, converted: Any) -> Any:
        _, gathering = self._gathered.get(identity_of(value), (None, None))
        if gathering is None:
            return converted
        with jax_core.set_current_trace(self.trace):
            part = gathering.part.astype(converted.dtype)
        return self._gather(dataclasses.replace(gathering, part=part))

    def gather_again(self, value: object, behind: PyTree) -> Any:
        _, gathering = self._gathered.get(identity_of(value), (None, None))
        return value if gathering is None else gathering(behind)

    def note_reduced(self, value: object, rest: object, part: object) -> None:
        self._reduced[identity_of(value)] = value, rest, part

    def find_reduced(self, gradient: object) -> tuple[Any, Any]:
        return self._reduced.get(identity_of(gradient), (gradient, gradient, None))[1:]

    @property
    def gathers(self) -> bool:
        return self._mesh.shape[SHARD_AXIS] > 1

    def find_gathering(self, variable: keras.Variable) -> regions.Gathering | None:
        self._catch_up(variable)
        # What the replica has assigned, or has a value of its own of, is at hand.
        is_own = id(variable) in self.writes or id(variable) in self._shares or id(variable) in self._local
        has_own = (
            parts_on(variable, self._mesh) is not None or has_divided_rows(variable) or is_on_read(variable)
        )
        return None if is_own or has_own or is_seed_state(variable) else self._gathering_of(variable)

    def _gathering_of(self, variable: keras.Variable) -> regions.Gathering | None:
        if not storage.has_value(variable):
            # Created in this trace: where it lies is known when it has its first value.
            self.parent.get_current_value(variable)
        self.settle(variable)
        spec = spec_on(variable, self._mesh)
        if spec is None:
            return None
        self.divided[id(variable)] = variable
        if self._divided_parts is None:
            # Types only.
            shape = NamedSharding(self._mesh, spec).shard_shape(tuple(variable.shape))
            # Of the region's own trace: it may be read in a loop of JAX first.
            with jax_core.set_current_trace(self.trace):
                part = jnp.zeros(shape, variable.dtype)
            return gathering_of(part, spec, variable.name)
        if id(variable) not in self._divided_parts:
            raise errors.TracingError(
                "A replica's function read other variables when it was traced a second time. Expected: the same in "
                f"each trace. Received: a read of {shown(variable.path)}. Create variables before the call."
            )
        return gathering_of(self._divided_parts[id(variable)], spec, variable.name)

    def _own_part(self, kept: ReplicaParts) -> Any:
        """Return this replica's own value, or something of its type, in a trace that only finds out that it is used."""
        if id(kept.variable) in self._local:
            return self._local[id(kept.variable)]
        return jnp.zeros(kept.shape[1:], kept.variable.dtype)

    def _spread_share(self, share: ReplicaShare) -> Any:
        value = self.parent.get_current_value(share.variable)
        with jax_core.set_current_trace(self.trace):
            return share.spread(value)

    def is_first_party(self) -> Any:
        return replica_index() == 0

    def differing(self) -> list[keras.Variable]:
        """Return the variables whose values differ between replicas and need not be combined before the step ends."""
        found = [regions.variable_of(source) for source in self.writes.values() if self._is_part(source)]
        found = [each for each in found if id(each) not in self.kept]
        # A variable that is read as it was before the step has to be one by then.
        return [each for each in found if not (is_aggregated(each) and id(each) in self.reads)]

    def parts(self) -> list[tuple[keras.Variable, Any]]:
        """Return the replica's own values of the variables that it wrote and that stay spread, in the order of them."""
        found = []
        for key, source in self.writes.items():
            variable = regions.variable_of(source)
            if id(variable) not in self._local:
                continue
            value = self.final_value(source)
            if is_aggregated(variable) and key == id(variable):
                value = ReplicaShare(variable, self._num_replicas).spread(value)
            found.append((variable, value))
        return found

    def merged(self) -> tuple[list[keras.Variable], list[Any]]:
        """Combine the variables that were written and do not stay spread into one value; one collective per dtype."""
        # Those that stay spread (a loop carries them) are merged behind the loop, once.
        staying = {*self._local, *self.kept}
        sources = [each for each in self.writes.values() if id(regions.variable_of(each)) not in staying]
        variables = [regions.variable_of(source) for source in sources]
        values = [self.final_value(source) for source in sources]
        to_sum = [index for index, source in enumerate(sources) if self._is_part(source)]
        shares = [summand(variables[index], self._num_replicas, values[index]) for index in to_sum]
        totals = merge_or_pack(_sum_merged, _sum_packed, shares) if shares else []
        for index, total in zip(to_sum, totals, strict=True):
            values[index] = total.astype(values[index].dtype)
        return variables, values

    def _is_part(self, source: keras.Variable) -> bool:
        """Return whether what was written is a replica's own, and no value of all."""
        # Agreement or not, a sum began at zero on all replicas but the first.
        return id(source) not in self.in_agreement or (source.aggregation == "sum" and is_on_read(source))


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
        count = count_replicas(self._mesh)
        array = jnp.broadcast_to(value, (count, *value.shape))
        if is_seed_state(self.variable):
            # As `ReplicaRegion.lift` does for one replica: both have to draw the same numbers.
            folds = jnp.arange(count, dtype=value.dtype) * jnp.asarray(_FOLD, value.dtype)
            array = jnp.bitwise_xor(array, jnp.stack([folds, jnp.zeros_like(folds)], 1))
        elif self.variable.aggregation == "sum":
            first = jnp.arange(count).reshape(-1, *(1,) * value.ndim) == 0
            array = jnp.where(first, array, jnp.zeros_like(array))
        return jax.lax.with_sharding_constraint(array, NamedSharding(self._mesh, PartitionSpec(REPLICA_AXES)))

    def merge(self, array: Any) -> Any:
        if self.variable.aggregation == "sum":
            # JAX would widen small integers, and a loop's carry keeps its dtype.
            return jnp.sum(array, 0, dtype=array.dtype)
        return jnp.mean(array, 0) if _is_averaged(self.variable, array.dtype) else array[0]


def _is_averaged(variable: keras.Variable, dtype: Any) -> bool:
    """Return whether replicas' values become their mean; else, where they are not added up, they become the first's."""
    floating = jnp.issubdtype(dtype, jnp.floating)
    return bool(floating) and variable.aggregation != "only_first_replica" and not is_seed_state(variable)


def _is_of_all(variable: keras.Variable) -> bool:
    """Return whether one value of all is read or written of a variable of which replicas have theirs: `merge_call`."""
    is_own = (
        not isinstance(variable, ReplicaShare) and is_on_read(variable) and variable.aggregation != "none"
    )
    return is_own and in_cross_replica_context()


def _sum_merged(values: list[Any]) -> list[Any]:
    """Sum over the replicas, each value by itself."""
    totals: list[Any] = sum_over_replicas([value.astype(find_sum_dtype(value)) for value in values])
    return totals


def _sum_packed(values: list[Any]) -> list[Any]:
    """Sum over the replicas, all values of one dtype in one buffer."""
    by_dtype: dict[Any, list[int]] = {}
    for index, value in enumerate(values):
        by_dtype.setdefault(find_sum_dtype(value), []).append(index)
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
