"""Which strategy is in force, and whether the code that asks runs in a replica (distribute layer).

Follows `tf.distribute`: code inside `strategy.scope()` is in the *cross-replica context*; a function that
`strategy.run` calls is in a *replica context*; anything else is in the default strategy's replica context.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.typing import Axis, PyTree
from stratax.core.state import IndexedSlices
from stratax.distribute.replicas._exchange import over_replicas, replica_index
from stratax.distribute.replicas._reduce_op import ReduceOp, as_reduce_op
from stratax.distribute.replicas._values import REPLICA_AXES, PerReplica, is_per_replica

if TYPE_CHECKING:
    from stratax.distribute.strategies import Strategy


class ReplicaContext:
    """What a function that `strategy.run` calls can ask, and the collectives that it can call.

    Follows `tf.distribute.ReplicaContext`.

    Args:
        strategy: The strategy that runs the function.
        num_replicas: How many replicas take part: all of them, or 1 where one replica stands for all (the
            remainder of a batch that does not divide, a strategy with one device).
        averages_gradients: Whether `apply_gradients` averages over the replicas, as in the steps of `fit`, which are
            written for one device, instead of summing.
        stands_for: How many replicas this one stands for: all of them while it computes a remainder.
    """

    def __init__(
        self,
        strategy: "Strategy",
        num_replicas: int,
        *,
        averages_gradients: bool = False,
        stands_for: int = 1,
    ) -> None:
        self._strategy = strategy
        self._stands_for = stands_for
        self._num_replicas = num_replicas
        self._averages_gradients = averages_gradients

    @property
    def stands_for(self) -> int:
        """How many replicas this one stands for; more than 1 while it computes the remainder of a batch."""
        return self._stands_for

    @property
    def averages_gradients(self) -> bool:
        """Whether `apply_gradients` averages over the replicas instead of summing."""
        return self._averages_gradients

    @property
    def num_contributions(self) -> int:
        """What a mean over one replica's examples is divided by to become its contribution to the whole."""
        return 1 if self._averages_gradients else self._num_replicas

    @property
    def strategy(self) -> "Strategy":
        """The strategy that runs this replica."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas compute together now (1 for the remainder of a batch that does not divide)."""
        return self._num_replicas

    @property
    def replica_id_in_sync_group(self) -> Any:
        """This replica's number, 0 to `num_replicas_in_sync - 1`: an int32 scalar, traced where there are several."""
        if self._num_replicas == 1:
            return 0
        # One program serves all replicas, so the number is known only when it runs.
        return replica_index()

    @property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices that replicas run on."""
        return self._strategy.device_names

    def all_reduce(self, reduce_op: ReduceOp | str, value: PyTree, options: object = None) -> Any:
        """Combine every replica's `value`; all replicas get the result.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or its name.
            value: An array or a structure of arrays, of one shape on every replica; of `IndexedSlices`, the rows of all
                replicas are joined.
            options: Accepted for TensorFlow's signature; the strategy's cross-device operations decide.

        Returns:
            A structure like `value`.

        Raises:
            BadArgumentError: If `reduce_op` is unknown.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.OneDeviceStrategy("/cpu:0")
            >>> float(strategy.run(lambda: sx.distribute.get_replica_context().all_reduce("sum", 2.0)))
            2.0
        """
        op = as_reduce_op(reduce_op)
        # The indices would be added, too.
        if any(map(_is_slices, jax.tree.leaves(value, is_leaf=_is_slices))):
            reduce_leaf = functools.partial(self._reduce_leaf, op)
            return jax.tree.map(reduce_leaf, value, is_leaf=_is_slices)
        leaves, treedef = jax.tree.flatten(value)
        # Without a mesh axis there is no collective to call.
        if self._num_replicas == 1:
            return jax.tree.unflatten(treedef, [jnp.asarray(leaf) for leaf in leaves])
        arrays = [jnp.asarray(leaf) for leaf in leaves]
        reduce = self._strategy.cross_device_ops.reduce_in_replica
        reduced = over_replicas(lambda own: reduce(op, own, REPLICA_AXES, self._num_replicas), arrays)
        return jax.tree.unflatten(treedef, reduced)

    def _reduce_leaf(self, op: ReduceOp, leaf: Any) -> Any:
        if not _is_slices(leaf):
            return self.all_reduce(op, leaf)
        rows, indices = self.all_gather((leaf.values, leaf.indices), axis=0)
        return leaf.joined(rows / self._num_replicas if op is ReduceOp.MEAN else rows, indices)

    def all_gather(self, value: PyTree, axis: int, options: object = None) -> Any:
        """Concatenate every replica's `value` along `axis`; all replicas get the result.

        Args:
            value: An array or a structure of arrays, of one shape on every replica: they run one program. Components
                of several sizes are gathered outside of it, with `strategy.gather`.
            axis: The dimension to concatenate along.
            options: Accepted for TensorFlow's signature.

        Raises:
            BadArgumentError: If `axis` is not a dimension of `value`.
        """

        def gather(leaf: object) -> Any:
            array = jnp.asarray(leaf)
            dim = check_axis(axis, array.ndim)
            if self._num_replicas == 1:
                return array
            gathered = self._strategy.cross_device_ops.gather_in_replica
            return over_replicas(lambda own: gathered(own, dim, REPLICA_AXES), array)

        return jax.tree.map(gather, value)

    def merge_call(self, merge_fn: Callable[..., Any], args: PyTree = (), kwargs: PyTree = None) -> Any:
        """Call `merge_fn(strategy, *args, **kwargs)` once, in the cross-replica context.

        Args:
            merge_fn: Gets the strategy and, for every array in `args` and `kwargs`, the `PerReplica` of all
                replicas' arrays.
            args: Positional arguments.
            kwargs: Keyword arguments.

        Returns:
            What `merge_fn` returns; of a `PerReplica`, this replica's component.
        """
        kwargs = kwargs or {}
        if self._strategy.extended.execution.num_replicas > 1:
            # The merge function sees every replica's values, as in TensorFlow, though it is traced in each.
            args, kwargs = jax.tree.map(self._all_components, (args, kwargs))
        with enter_contexts(self._strategy, None):
            # Once for all replicas in what it does to variables: it is traced once.
            result = merge_fn(self._strategy, *args, **kwargs)

        def own(leaf: object) -> Any:
            if not isinstance(leaf, PerReplica):
                return leaf
            return leaf.array if leaf.solo else leaf.array[self.replica_id_in_sync_group]

        return jax.tree.map(own, result, is_leaf=is_per_replica)

    def _all_components(self, leaf: object) -> Any:
        if not isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
            return leaf
        if self._num_replicas == 1:
            return PerReplica(jnp.asarray(leaf), solo=True)
        return PerReplica(over_replicas(lambda own: jax.lax.all_gather(own, REPLICA_AXES), leaf))


@dataclasses.dataclass(frozen=True, slots=True)
class _Frame:
    strategy: "Strategy"
    replica: ReplicaContext | None


_FRAMES: Slot[tuple[_Frame, ...]] = Slot("strategies", ())
# Set by the module above, which this one can't import.
_default: list[Callable[[], "Strategy"]] = []


def set_default(factory: Callable[[], "Strategy"]) -> None:
    """Say how the default strategy is made; called once, by the module that defines it."""
    _default[:] = [factory]


@contextlib.contextmanager
def enter_contexts(strategy: "Strategy", replica: ReplicaContext | None) -> Iterator[None]:
    """Make a strategy, and a replica context or the cross-replica one, the current ones for a block."""
    _FRAMES.set((*_FRAMES.get(), _Frame(strategy, replica)))
    try:
        yield
    finally:
        _FRAMES.set(_FRAMES.get()[:-1])


def get_strategy() -> "Strategy":
    """Return the strategy in force: that of the innermost scope or replica, else the default strategy."""
    frames = _FRAMES.get()
    return frames[-1].strategy if frames else _default[0]()


def has_strategy() -> bool:
    """Return whether a strategy other than the default one is in force."""
    frames = _FRAMES.get()
    return bool(frames) and not is_default(frames[-1].strategy)


def is_default(strategy: "Strategy") -> bool:
    """Return whether this is the default strategy, which distributes nothing and owns nothing."""
    return strategy is _default[0]()


def in_cross_replica_context() -> bool:
    """Return whether the caller is in a strategy's scope but not in a replica."""
    frames = _FRAMES.get()
    return bool(frames) and frames[-1].replica is None


def in_replica() -> bool:
    """Return whether the caller runs in a function that `strategy.run` calls, `merge_call` included."""
    # Any frame, as `merge_call` puts a cross-replica one on top.
    frames = _FRAMES.get()
    return bool(frames) and any(
        frame.replica is not None and frame.strategy is not _default[0]() for frame in frames
    )


def num_participants(strategy: "Strategy") -> int | None:
    """Return how many replicas of `strategy` compute together where the caller runs, or None outside of a replica."""
    for frame in reversed(_FRAMES.get()):
        if frame.strategy is strategy and frame.replica is not None:
            return frame.replica.num_replicas_in_sync
    return None


def get_replica_context() -> ReplicaContext | None:
    """Return the context of the replica that the caller runs in, or None in the cross-replica context."""
    frames = _FRAMES.get()
    if frames:
        return frames[-1].replica
    # Outside of all scopes code runs as the default strategy's one replica.
    return ReplicaContext(_default[0](), 1)


def syncing_replicas() -> ReplicaContext | None:
    """Return the context of the replica that the caller runs in where there are several to agree with, else None."""
    frames = _FRAMES.get()
    if not frames:
        return None
    replica = frames[-1].replica
    return replica if replica is not None and replica.num_replicas_in_sync > 1 else None


def _is_slices(value: object) -> bool:
    return isinstance(value, IndexedSlices)


def check_axis(axis: Axis, ndim: int) -> int:
    """Return a dimension's index from the front; raise where there is no such dimension."""
    if not isinstance(axis, (int, np.integer)) or isinstance(axis, bool):
        raise errors.BadTypeError(f"axis must be an int. Received: axis={shown(axis)}.")
    if not -ndim <= axis < ndim:
        raise errors.BadArgumentError(
            f"axis is out of range. Expected: -{ndim} <= axis < {ndim}, since a component has {ndim} dimensions. "
            f"Received: axis={shown(axis)}."
        )
    return int(axis) % ndim


__all__ = [
    "ReduceOp",
    "ReplicaContext",
    "check_axis",
    "enter_contexts",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "in_replica",
    "is_default",
    "num_participants",
    "set_default",
    "syncing_replicas",
]
