"""`Strategy`: what runs where, with one meaning for every kind of hardware (distribute layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from stratax import errors
from stratax.base import tracebacks
from stratax.base.recording import NOT_RECORDED, RECORDER, recordable
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.cluster import ClusterResolver, device_name
from stratax.core import known, regions
from stratax.core.state import IndexedSlices
from stratax.data.foreign import adopt
from stratax.distribute.collectives import CrossDeviceOps
from stratax.distribute.input import DistributedDataset, InputContext
from stratax.distribute.replicas import (
    PerReplica,
    ReduceOp,
    UnevenPerReplica,
    as_reduce_op,
    check_none,
    enter_contexts,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
    in_replica,
    is_per_replica,
    num_participants,
)
from stratax.distribute.strategies import _execution, _extended, _ownership, _variables
from stratax.seams.keras import without_distribution


class Strategy:
    """Distributes a computation; the one line of a program that changes.

    Follows `tf.distribute.Strategy`. A strategy is composed of four parts, which subclasses choose: where variables
    live, who takes part, how functions are run and how input is divided. What the methods mean is the same for all.

    Args:
        extended: The four parts.

    Raises:
        BadTypeError: If `extended` is something else.
    """

    def __init__(self, extended: "_extended.StrategyExtended") -> None:
        if not isinstance(extended, _extended.StrategyExtended):
            raise errors.BadTypeError(
                "Strategy is made by its subclasses, of the four parts that they are composed of. Expected: a "
                f"StrategyExtended. Received: extended={shown(extended)}. Use MirroredStrategy(devices), or another "
                "strategy of stratax.distribute."
            )
        self._extended = extended
        extended.belong_to(self)
        self._execution = extended.execution

    # What there is.

    def of_this_process(self) -> "Strategy":
        """Return a strategy whose devices are this process' alone, which waits for no other; itself if it is one."""
        return self

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas compute together.

        Inside a function that `run` calls it is the number that takes part there: 1 while the remainder of a batch is
        computed, which one replica's meaning stands for (see `experimental_distribute_dataset`).
        """
        return num_participants(self) or self._execution.num_replicas

    @property
    def devices(self) -> tuple[jax.Device, ...]:
        """The replicas' devices, in order; none where this process knows of none."""
        return self._execution.devices

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the replicas' devices, as TensorFlow writes them."""
        return tuple(device_name(device) for device in self.devices)

    @property
    def mesh(self) -> Mesh:
        """The mesh of the replicas: axes `"replica"`, groups of them, `"shard"`, those of a group, and `"model"`.

        In a collective or specification `("replica", "shard")` stands for all replicas. Where each device has a copy of
        each variable, each is a group by itself; along `"model"` there are several only if they share a replica.

        Raises:
            StrategyError: If the replicas are not devices that compute in step.
        """
        return self._over_mesh("mesh").mesh

    @property
    def cross_device_ops(self) -> CrossDeviceOps:
        """How replicas' values are combined.

        Raises:
            StrategyError: If the replicas are not devices that compute in step.
        """
        return self._over_mesh("cross_device_ops").cross_device_ops

    def _over_mesh(self, name: str) -> _execution.OverMesh:
        execution = self._execution
        if isinstance(execution, _execution.OverMesh):
            return execution
        raise errors.StrategyError(
            f"strategy.{name} belongs to strategies whose replicas are devices that compute in step. Expected: a "
            f"MirroredStrategy or another one of that kind. Received: {shown(self)}."
        )

    @property
    def cluster_resolver(self) -> ClusterResolver | None:
        """The resolver that found the strategy's devices; None for a strategy of one machine, which needs none."""
        return None

    @property
    def extended(self) -> _extended.StrategyExtended:
        """The parts of the strategy, and what code of the cross-replica context calls: `update`, `reduce_to`."""
        return self._extended

    def __repr__(self) -> str:
        where = f" on {', '.join(self.device_names)}" if self.devices else ""
        return f"<{type(self).__name__} with {self._execution.num_replicas} replicas{where}>"

    # Scope.

    def scope(self) -> contextlib.AbstractContextManager["Strategy"]:
        """Return the context in which a program's variables, models and optimizers are made.

        Variables created inside belong to this strategy; a Keras model that is compiled inside trains with it, also
        when `fit` is called outside.

        Raises:
            StrategyError: On entering it inside the scope of another strategy.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.MirroredStrategy()
            >>> with strategy.scope():
            ...     v = sx.Variable(1.0)
        """
        return _scope(self)

    # Computing.

    def run(
        self, fn: Callable[..., Any], args: PyTree = (), kwargs: PyTree = None, options: object = None
    ) -> Any:
        """Call `fn` once per replica, each with its component of the arguments.

        Inside a `stratax.function` the call becomes part of that program; outside it is compiled by itself.

        Args:
            fn: The function of one replica. It may use `stratax.distribute.get_replica_context()`, read and assign
                variables, and apply gradients, which are summed over the replicas first.
            args: Positional arguments, a tuple or list. Every `PerReplica` in it is replaced by the replica's
                component, such as its part of a batch; everything else is passed to all replicas. Arrays that are not
                small stay in parts with a `ShardedStrategy`, and each replica sees the whole, gathered where it is
                read.
            kwargs: Keyword arguments, likewise.
            options: Accepted for TensorFlow's signature.

        Returns:
            What `fn` returns, with a `PerReplica` in the place of each array (a plain array where there is one
            replica). For the remainder of a batch it has one component.

        Raises:
            BadTypeError: If `fn` is not callable or `args` is no tuple or list.
            BadArgumentError: If a `PerReplica` has another number of components than there are replicas.
            StrategyError: If called inside a replica, in the scope of another strategy, or in a GradientTape outside of
                compiled functions.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.OneDeviceStrategy("/cpu:0")
            >>> float(strategy.run(lambda x: x * 2, args=(3.0,)))
            6.0
        """
        # Without a decorator: it would be one more call in every step.
        if (recorder := RECORDER.get()) is not None:
            made = recorder.record_call(Strategy.run, (self, fn, args, kwargs), {})
            if made is not NOT_RECORDED:
                return made
        kwargs = {} if kwargs is None else kwargs
        self._check_run(fn, args, kwargs)
        # Part of the program that is being traced; a program of its own would be opaque to it.
        if regions.current_region() is not None:
            return self._execution.call_for_each_replica(fn, tuple(args), kwargs)
        try:
            return self._execution.run(fn, tuple(args), kwargs)
        except Exception as error:
            # Frames of Stratax and JAX say nothing to the user.
            tracebacks.shorten(error)
            raise

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: PyTree = (), kwargs: PyTree = None, options: object = None
    ) -> Any:
        """Call :meth:`run` by the name that it had in TensorFlow 2.0."""
        return self.run(fn, args, kwargs, options)

    def _check_run(self, fn: Callable[..., Any], args: PyTree, kwargs: PyTree) -> None:
        if not callable(fn):
            raise errors.BadTypeError(f"strategy.run expects a function. Received: fn={shown(fn)}.")
        # A single array has a length, and would be taken apart into rows.
        if not isinstance(args, (tuple, list)):
            raise errors.BadTypeError(
                f"strategy.run expects its arguments as a tuple or list. Received: args={shown(args)}. "
                "Write `args=(value,)`."
            )
        if not isinstance(kwargs, dict):
            raise errors.BadTypeError(
                f"strategy.run expects keyword arguments as a dict. Received: kwargs={shown(kwargs)}."
            )
        if in_replica():
            raise errors.StrategyError(
                "strategy.run was called inside a replica, by a function that strategy.run had called. Replicas can't "
                f"be nested. Received: fn={shown(fn)}. Call the function directly."
            )
        if has_strategy() and get_strategy() is not self:
            raise errors.StrategyError(
                "strategy.run was called inside the scope of another strategy; strategies can't be nested. "
                f"Received: {shown(self)} inside the scope of {shown(get_strategy())}. Leave that "
                "scope first."
            )
        leaves = jax.tree.leaves((args, kwargs), is_leaf=is_per_replica)
        check_none(leaves, "strategy.run")
        for leaf in leaves:
            if isinstance(leaf, PerReplica) and not leaf.solo:
                self._check_components(leaf)

    def _check_components(self, leaf: PerReplica) -> None:
        expected = self._execution.num_replicas
        if leaf.num_components != expected and not known.is_text(leaf.array):  # Text is each worker's own.
            raise errors.BadArgumentError(
                f"A per-replica argument has the wrong number of components. Expected: {expected}, one for each "
                f"replica of {shown(self)}. Received: {leaf.num_components} components of shape {leaf.shape}. Make "
                "it with this strategy's experimental_distribute_dataset or "
                "experimental_distribute_values_from_function."
            )

    # Combining.

    @recordable
    def reduce(self, reduce_op: ReduceOp | str, value: PyTree, axis: int | None) -> Any:
        """Combine the replicas' values into one.

        Args:
            reduce_op: `ReduceOp.SUM` or `ReduceOp.MEAN`, or its name.
            value: What `run` returned: a `PerReplica` or a structure of them; of `IndexedSlices`, all rows are joined;
                of a variable that is synchronized on read, each replica's own value.
            axis: None combines the components, element by element. A dimension of the components (0 for
                examples) is reduced as well; a mean divides by the true number of elements over all replicas.

        Returns:
            A structure like `value` of arrays, on every replica's device.

        Raises:
            BadArgumentError: If `reduce_op` is unknown, `axis` is out of range, or a sum of values that are
                not per replica is asked for.
            StrategyError: If called in a replica; use `get_replica_context().all_reduce` there.

        Example:
            >>> import stratax as sx
            >>> strategy = sx.distribute.OneDeviceStrategy("/cpu:0")
            >>> losses = strategy.run(lambda: jax.numpy.array([1.0, 3.0]))
            >>> float(strategy.reduce("mean", losses, axis=0))
            2.0
        """
        op = as_reduce_op(reduce_op)
        # It is a static argument of a program, and keys it by value.
        axis = int(axis) if isinstance(axis, np.integer) else axis
        self._check_cross_replica("reduce", "get_replica_context().all_reduce")

        def reduce(leaf: object) -> Any:
            return self._join(op, leaf) if isinstance(leaf, IndexedSlices) else self.reduce(op, leaf, axis)

        if _has_slices(value):
            return jax.tree.map(
                reduce, value, is_leaf=lambda leaf: isinstance(leaf, IndexedSlices | PerReplica)
            )
        return self._execution.reduce(op, _variables.with_own_values(self, value), axis)

    def _join(self, op: ReduceOp, slices: IndexedSlices) -> IndexedSlices:
        """Return the rows of all replicas, of which those with one index add up."""
        if not isinstance(slices.values, PerReplica):
            return slices
        rows, indices = self.gather((slices.values, slices.indices), axis=0)
        return slices.joined(rows / slices.values.num_components if op is ReduceOp.MEAN else rows, indices)

    def _check_cross_replica(self, method: str, instead: str) -> None:
        if in_replica() and not in_cross_replica_context():
            raise errors.StrategyError(
                f"strategy.{method} was called inside a replica. Expected: outside of the function that strategy.run "
                f"calls. Inside, use stratax.distribute.{instead}."
            )

    def gather(self, value: PyTree, axis: int) -> Any:
        """Concatenate the replicas' values along a dimension, in the order of the replicas.

        Components may have several sizes in that dimension; several workers tell one another the sizes first. Inside a
        compiled function they have one.

        Args:
            value: A `PerReplica`, a variable, or a structure of them.
            axis: The dimension of the components to concatenate along.

        Returns:
            A structure like `value` of arrays.

        Raises:
            BadArgumentError: If `axis` is out of range.
            StrategyError: If called in a replica; use `get_replica_context().all_gather` there.
            StructureError: If components differ in another dimension or in their dtype.

        Example:
            >>> import numpy as np, stratax as sx
            >>> strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
            >>> value = strategy.experimental_distribute_values_from_function(
            ...     lambda context: np.arange(1 + context.replica_id_in_sync_group))
            >>> strategy.gather(value, axis=0).tolist()
            [0, 0, 1]
        """
        self._check_cross_replica("gather", "get_replica_context().all_gather")
        return self._execution.gather(_variables.with_copies(self, value), axis)

    @recordable
    def experimental_local_results(self, value: PyTree) -> tuple[Any, ...]:
        """Return the components of a value that this process holds, as a tuple, in the order of the replicas.

        Args:
            value: A `PerReplica`, a variable of this strategy, a structure of them, or a plain value.

        Returns:
            As many components as there are local replicas; one for the remainder of a batch or a plain value.
        """
        leaves, treedef = jax.tree.flatten(_variables.with_copies(self, value), is_leaf=is_per_replica)
        several = (PerReplica, UnevenPerReplica)
        columns = [leaf.values if isinstance(leaf, several) else None for leaf in leaves]
        # Values that are the same everywhere appear in every row.
        counts = {len(column) for column in columns if column is not None} or {1}
        rows = [
            [leaf if column is None else column[row] for leaf, column in zip(leaves, columns, strict=True)]
            for row in range(max(counts))
        ]
        return tuple(jax.tree.unflatten(treedef, row) for row in rows)

    # Input.

    def experimental_distribute_dataset(self, dataset: object, options: object = None) -> DistributedDataset:
        """Divide the batches of a dataset among the replicas.

        Args:
            dataset: A `stratax.data.Dataset` of *global* batches, a pipeline of grain, torch, Hugging Face or tf.data
                (see `stratax.data.as_dataset`), or any iterable of structures of arrays whose first dimension counts
                examples.
            options: A `stratax.distribute.InputOptions`.

        Returns:
            An iterable of structures of `PerReplica` (of plain arrays where there is one replica). A batch that
            does not divide is not dropped: it comes as a `PerReplica` with one component, which every replica
            computes as one device would.

        Raises:
            BadTypeError: If `dataset` can't be iterated.
            DataError: If its elements are no batches.
        """
        return self._extended.input.distribute(adopt(dataset), options)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: object = None
    ) -> DistributedDataset:
        """Distribute a dataset of *per-replica* batches that `dataset_fn` makes.

        Args:
            dataset_fn: Called once per input pipeline with an `InputContext`; returns a dataset.
            options: A `stratax.distribute.InputOptions`.

        Returns:
            An iterable like that of :meth:`experimental_distribute_dataset`; each step takes one element for each
            replica. What is left over at the end is one last step with one component.
        """
        if not callable(dataset_fn):
            raise errors.BadTypeError(
                "distribute_datasets_from_function expects a function that takes an InputContext and returns a "
                f"dataset. Received: dataset_fn={shown(dataset_fn)}."
            )
        return self._extended.input.distribute_from_function(dataset_fn, options)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: object = None
    ) -> DistributedDataset:
        """Call :meth:`distribute_datasets_from_function` by the name that it had first."""
        return self.distribute_datasets_from_function(dataset_fn, options)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """Make a `PerReplica` of what `value_fn` returns for each replica.

        Args:
            value_fn: Called with a `ValueContext` for each replica; returns an array or a structure of arrays. To be
                computed with in `run` they have one shape on every replica; to be gathered, as many dimensions.

        Raises:
            StructureError: If the replicas' structures, numbers of dimensions or dtypes differ.
        """
        return self._execution.values_from_function(value_fn)

    def make_experimental_numpy_dataset(self, numpy_input: object, session: object = None) -> Any:
        """Make a `stratax.data.Dataset` of the rows of NumPy arrays, to be batched and distributed."""
        # Late: most programs of custom loops never make a Dataset.
        from stratax.data import Dataset

        return Dataset.from_tensor_slices(numpy_input)

    def experimental_make_numpy_dataset(self, numpy_input: object, session: object = None) -> Any:
        """Call :meth:`make_experimental_numpy_dataset` by its other name."""
        return self.make_experimental_numpy_dataset(numpy_input, session)


def _has_slices(value: PyTree) -> bool:
    leaves = jax.tree.leaves(value, is_leaf=lambda leaf: isinstance(leaf, IndexedSlices))
    return any(isinstance(leaf, IndexedSlices) for leaf in leaves)


@contextlib.contextmanager
def _scope(strategy: Strategy) -> Iterator[Strategy]:
    if in_replica():
        raise errors.StrategyError(
            "The scope of a strategy was entered inside a replica, in a function that strategy.run had called. "
            "Expected: outside of it, where variables and models are made. "
            f"Received: {shown(strategy)}. Leave the scope out: the strategy is in force there."
        )
    if has_strategy() and get_strategy() is not strategy:
        raise errors.StrategyError(
            "The scope of a strategy was entered inside the scope of another one; strategies can't be nested. "
            f"Received: {shown(strategy)} inside {shown(get_strategy())}. Leave the outer scope first."
        )
    with (
        # Keras' own distribution would lay out variables over all devices, whatever the strategy has.
        without_distribution(),
        # Placed when the scope ends, in one transfer, behind `enter_contexts` in order of leaving.
        _ownership.placing_new_variables(strategy),
        enter_contexts(strategy, None),
    ):
        yield strategy
