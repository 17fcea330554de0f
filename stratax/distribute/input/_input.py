"""Input for a strategy: what divides batches among replicas and puts them on their devices (distribute layer)."""

import dataclasses
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from stratax import errors
from stratax._shown import shown
from stratax.core import Stream, regions
from stratax.core.placement import place, place_local
from stratax.distribute.input import _buffered_reader, _readers
from stratax.distribute.replicas import REPLICA_AXIS

if TYPE_CHECKING:
    from stratax.distribute.strategies import Strategy


_STATE_VERSION = 1


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class InputContext:
    """What a dataset function knows about where its dataset will be used. Follows `tf.distribute.InputContext`.

    Attributes:
        num_input_pipelines: How many pipelines feed the cluster.
        input_pipeline_id: The number of this one.
        num_replicas_in_sync: How many replicas the input is for.
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The examples of one replica in a global batch.

        Raises:
            BadArgumentError: If the batch does not divide among the replicas.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise errors.BadArgumentError(
                f"The global batch does not divide among the replicas. Expected: a multiple of "
                f"{self.num_replicas_in_sync}. Received: global_batch_size={shown(global_batch_size)}."
            )
        return global_batch_size // self.num_replicas_in_sync


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ValueContext:
    """The replica that a value is made for. Follows `tf.distribute.experimental.ValueContext`.

    Attributes:
        replica_id_in_sync_group: The replica's number.
        num_replicas_in_sync: How many there are.
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class InputOptions:
    """How distributed input is fetched. Follows `tf.distribute.InputOptions`.

    Attributes:
        experimental_fetch_to_device: Whether elements are put on the replicas' devices (True, the default) or left
            on the host as NumPy arrays, of which each `PerReplica` holds all components.
        experimental_replication_mode: Accepted for TensorFlow's signature.
        experimental_place_dataset_on_device: Not available: datasets run on the host.
        experimental_per_replica_buffer_size: How many blocks are read ahead in the background where the source is slow.
    """

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: Any = None
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 2

    def __post_init__(self) -> None:
        if self.experimental_place_dataset_on_device:
            raise errors.BadArgumentError(
                "experimental_place_dataset_on_device=True is not available: a dataset runs on the host and its "
                "elements are sent to the devices. Leave the option out."
            )
        if self.experimental_per_replica_buffer_size < 1:
            raise errors.BadArgumentError(
                "experimental_per_replica_buffer_size must be at least 1. Received: "
                f"experimental_per_replica_buffer_size={shown(self.experimental_per_replica_buffer_size)}."
            )


class DistributedDataset:
    """A dataset whose elements are divided among a strategy's replicas.

    Made by `strategy.experimental_distribute_dataset` and `strategy.distribute_datasets_from_function`. Iterating gives
    structures of `PerReplica`; an iterator can also be passed to a `stratax.function`, which calls `next` on it.
    """

    def __init__(
        self, strategy: "Strategy", source: "_readers.Source", options: InputOptions | None = None
    ) -> None:
        if options is not None and not isinstance(options, InputOptions):
            raise errors.BadTypeError(
                f"options must be a stratax.distribute.InputOptions. Received: options={shown(options)}."
            )
        self._strategy = strategy
        self._source = source
        self._options = options or InputOptions()

    @property
    def strategy(self) -> "Strategy":
        """The strategy whose replicas the elements are for."""
        return self._strategy

    @property
    def source(self) -> Any:
        """The dataset that this process iterates: the one that was distributed, or this worker's part of it."""
        return self._source.dataset

    @property
    def element_spec(self) -> Any:
        """The structure of the dataset that is distributed, of `stratax.data.TensorSpec`."""
        return self._source.element_spec

    def cardinality(self) -> int:
        """How many steps one pass takes; negative if unknown or infinite, as `stratax.data` writes it."""
        return self._source.cardinality()

    def __len__(self) -> int:
        steps = self.cardinality()
        if steps < 0:
            raise errors.BadTypeError(
                "The number of steps of this distributed dataset is unknown or infinite, so it has no len()."
            )
        return steps

    @property
    def stream_signature(self) -> Hashable:
        """What two datasets have in common when one compiled program serves both."""
        return (type(self), self._strategy.devices, repr(self._source.element_spec))

    def __iter__(self) -> "DistributedIterator":
        region = regions.current_region()
        if region is not None:
            found: DistributedIterator = region.iterate(self)
            return found
        return DistributedIterator(self._strategy, self._source, self._options)

    def __repr__(self) -> str:
        return f"<stratax.distribute.DistributedDataset of {self._source.dataset!r} for {self._strategy!r}>"


class DistributedIterator(Stream):
    """One pass over a :class:`DistributedDataset`; a compiled function can call `next` on it."""

    def __init__(self, strategy: "Strategy", source: "_readers.Source", options: InputOptions) -> None:
        self._strategy = strategy
        self._options = options
        self._source = source
        self._reader = self._buffered()
        self._signature = (type(self), strategy.devices, repr(source.element_spec))
        mesh = strategy.mesh
        self._shardings: dict[_readers.Kind, list[jax.sharding.Sharding]] = {
            _readers.Kind.SPREAD: [
                NamedSharding(mesh, PartitionSpec(REPLICA_AXIS)),
                NamedSharding(mesh, PartitionSpec(None, REPLICA_AXIS)),
            ],
            _readers.Kind.SOLO: [NamedSharding(mesh, PartitionSpec())] * 2,
            _readers.Kind.PLAIN: [jax.sharding.SingleDeviceSharding(strategy.devices[0])] * 2,
        }

    @property
    def signature(self) -> Hashable:
        return self._signature

    @property
    def element_spec(self) -> Any:
        """The structure of the dataset that is distributed."""
        return self._source.element_spec

    @property
    def input_wait_seconds(self) -> float:
        """How long the program has waited for this iterator's source so far, in seconds."""
        return self._reader.wait_seconds

    @property
    def steps_ready(self) -> int:
        """How many steps have been read and not taken yet."""
        return self._reader.ready

    def global_structure(self) -> Any:
        """The next step's global batch, before it is divided, with `jax.ShapeDtypeStruct` leaves."""
        self._reader.runs(0, 1)
        return self._reader.global_structure()

    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        return self._reader.runs(skip, count)

    def take(self) -> Any:
        return self._place(self._reader.take_one(), stacked=False)

    def take_block(self, count: int, capacity: int) -> Any:
        return self._place(self._reader.take(count, capacity), stacked=True)

    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        return self._reader.runs_up_to(skip, count)

    def peek_block(self, skip: int, count: int, capacity: int) -> Any:
        return self._place(self._reader.block(skip, count, capacity), stacked=True)

    def pass_over(self, count: int) -> None:
        """Reads steps and drops them; all workers do so together.

        Args:
            count: How many.

        Raises:
            OutOfRangeError: There are fewer.
        """
        self._reader.drop(count)

    def get_next(self) -> Any:
        """The next element. TensorFlow's other name for `next(iterator)`."""
        return next(self)

    def get_state(self) -> dict[str, Any]:
        """The position behind the last element that was taken, as a small dict that JSON can hold.

        With several workers each has a state of its own, except where all read the same dataset: then it is the same
        for any number of workers.

        Returns:
            What :meth:`set_state` takes, in this process or another, of an iterator over an equal dataset.

        Raises:
            DataError: The source can't be put back: a Python generator, or a foreign iterable.
        """
        return {
            "version": _STATE_VERSION,
            "readers": self._source.num_readers,
            "elements": self._source.elements_in_step,
            **self._reader.place(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to a position that :meth:`get_state` gave: the next element is the one after it.

        Args:
            state: The saved position.

        Raises:
            DataError: The state is not one, or comes from another pipeline.
        """
        _check_state(state, self._source.num_readers)
        place, steps = self._source.behind(state["place"], state["steps"], state["elements"])
        reader = self._buffered(place)
        try:
            if steps:
                reader.drop(steps)
        except BaseException:
            reader.close()
            raise
        self._reader.close()
        self._reader = reader

    def _buffered(self, place: "_readers.Place | None" = None) -> "_buffered_reader.BufferedReader":
        ahead = self._options.experimental_per_replica_buffer_size
        return _buffered_reader.BufferedReader(
            self._source.open(place), ahead, self._strategy.extended.membership.waiting
        )

    def close(self) -> None:
        """Stops reading ahead and releases the source."""
        self._reader.close()

    def __enter__(self) -> "DistributedIterator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _place(self, block: "_readers.Block", *, stacked: bool) -> Any:
        arrays: list[Any] = block.leaves
        if self._options.experimental_fetch_to_device is not False:
            sharding = self._shardings[block.kind][int(stacked)]
            if block.processes > 1 and block.kind is _readers.Kind.SPREAD:
                arrays = [self._place_share(block, leaf, sharding, stacked) for leaf in arrays]
            else:
                arrays = place(arrays, sharding)
        return block.wrap(arrays)

    @staticmethod
    def _place_share(
        block: "_readers.Block", leaf: Any, sharding: jax.sharding.Sharding, stacked: bool
    ) -> jax.Array:
        lead, shape = (leaf.shape[:1], leaf.shape[1:]) if stacked else ((), leaf.shape)
        return place_local(leaf, sharding, (*lead, *block.shape_of(shape)))


def limit_ahead(iterator: DistributedIterator, steps: float) -> None:
    """Have an iterator read no more than so many steps ahead of those that were taken, unless they are asked for.

    What is read ahead of a source that can't be begun anew, such as a generator, is lost to whoever takes the next
    elements from it.

    Args:
        iterator: The iterator.
        steps: How many; infinity for no limit, which is the default.
    """
    iterator._reader.limit_ahead(steps)


def _check_state(state: Any, num_readers: int) -> None:
    counts = ("readers", "elements", "steps")
    is_one = isinstance(state, dict) and state.get("version") == _STATE_VERSION and "place" in state
    if not is_one or not all(_readers.is_count(state.get(name)) for name in counts):
        raise errors.DataError(
            f"A state of a distributed iterator has the version {_STATE_VERSION}, a place and the numbers "
            f"{', '.join(counts)}. Received: state={shown(state)}. Pass what get_state() returned."
        )
    if state["readers"] != num_readers:
        raise errors.DataError(
            "The state is of input of which each worker read a part of its own, which says nothing of another number "
            "of workers. Expected: as many workers as before, or a dataset that all workers read whole (arrays in "
            f"memory). Received: a state of {state['readers']} parts for input in {num_readers}."
        )
