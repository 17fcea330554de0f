"""Distributed datasets and their iterators: steps that are divided, placed, looked at and taken (distribute layer)."""

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from stratax import errors
from stratax.base import tracebacks
from stratax.base.shown import shown
from stratax.core import Stream, regions
from stratax.data.iteration import ran_out, runs, stack_elements
from stratax.distribute import input as distributed
from stratax.distribute.input._elements import Convert, StepCursor
from stratax.distribute.input._options import InputOptions
from stratax.distribute.input._placing import OnHost
from stratax.distribute.input._prepared import Prepare
from stratax.distribute.input._sources import Source, is_count
from stratax.distribute.input._step_feed import StepFeed
from stratax.distribute.input._steps import StepKind, wrap_step

if TYPE_CHECKING:
    from stratax.distribute.strategies import Strategy


# Raised when an older reader would misread a saved position.
_STATE_VERSION = 1
# How many steps are dropped at a time when passing over many: so much is in memory.
_STEPS_AT_ONCE = 64
_NO_OPTIONS = InputOptions()


class DistributedDataset:
    """A dataset whose elements are divided among a strategy's replicas.

    Made by `strategy.experimental_distribute_dataset` and `strategy.distribute_datasets_from_function`. Iterating gives
    structures of `PerReplica`; an iterator can also be passed to a `stratax.function`, which calls `next` on it.
    """

    def __init__(self, strategy: "Strategy", source: Source, options: InputOptions | None = None) -> None:
        if options is not None and not isinstance(options, InputOptions):
            raise errors.BadTypeError(
                f"options must be a stratax.distribute.InputOptions. Received: options={shown(options)}."
            )
        self._strategy = strategy
        self._source = source
        self._options = options or _NO_OPTIONS

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

    def convert_composites(self, function: Convert) -> None:
        """Have a function make arrays of sparse and ragged components before they are divided among the replicas."""
        self._source.convert_composites(function)

    def with_preparation(
        self, function: Prepare, treedef: Any = None, at_most: int | None = None
    ) -> "DistributedDataset":
        """Return the same dataset of elements that are prepared before they become steps.

        Args:
            function: From the leaves of stacked elements, how many they are and their structure to others.
            treedef: The structure of a prepared element; None where it is not known yet.
            at_most: How many elements are prepared in one block; None for as many as are read at once.
        """
        source = self._source.with_preparation(function, treedef, at_most)
        return DistributedDataset(self._strategy, source, self._options)

    def cardinality(self) -> int:
        """Return how many steps one pass takes; negative if unknown or infinite, as `stratax.data` writes it."""
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
        try:
            return DistributedIterator(self._strategy, self._source, self._options)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator of a graph, as `Dataset.make_initializable_iterator`."""
        from stratax.data import make_initializable_iterator

        return make_initializable_iterator(self, shared_name)

    def __repr__(self) -> str:
        return f"<stratax.distribute.DistributedDataset of {self._source.dataset!r} for {self._strategy!r}>"


class DistributedIterator(Stream):
    """One pass over a :class:`DistributedDataset`; a compiled function can call `next` on it."""

    def __init__(self, strategy: "Strategy", source: Source, options: InputOptions) -> None:
        self._strategy = strategy
        self._options = options
        self._source = source
        self._signature: Hashable = None
        placing = strategy.extended.input.placing
        self._placing = OnHost(placing) if options.experimental_fetch_to_device is False else placing
        self._use(self._feed_over(source.open()))

    def _feed_over(self, cursor: StepCursor) -> StepFeed:
        size = self._options.experimental_per_replica_buffer_size
        waiting = self._strategy.extended.membership.waiting
        return StepFeed(cursor, self._source.positions(cursor), size, waiting)

    def _use(self, feed: StepFeed) -> None:
        """Take steps from a feed, whose threads end when this iterator is garbage-collected."""
        self._feed = feed
        self._is_closed = False
        # `wait=False`: the collector must not wait for a source that is stuck.
        self._finalizer = weakref.finalize(self, feed.run.close, wait=False)

    @property
    def signature(self) -> Hashable:
        # Only where a compiled function takes the iterator: to know its elements may take a call of a user's function.
        if self._signature is None:
            self._signature = (type(self), self._strategy.devices, repr(self._source.element_spec))
        return self._signature

    @property
    def element_spec(self) -> Any:
        """The structure of the dataset that is distributed."""
        return self._source.element_spec

    @property
    def input_wait_seconds(self) -> float:
        """How long the program has waited for this iterator's source so far, in seconds."""
        return self._feed.wait_seconds

    @property
    def steps_ready(self) -> int:
        """How many steps have been read and not taken yet."""
        return self._feed.num_ready

    def global_structure(self) -> Any:
        """Return the next step's global batch, before it is divided, with `jax.ShapeDtypeStruct` leaves."""
        # Reads it, or raises as the pass would.
        self.peek_runs(0, 1)
        steps: Any = self._feed.look(0, 1)[0]
        return self._placing.global_batch(steps)

    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        if self._is_closed:
            raise _make_closed_error()
        return runs(self._feed, self._placing.describe, skip, count, up_to=False)

    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        if self._is_closed:
            raise _make_closed_error()
        return runs(self._feed, self._placing.describe, skip, count, up_to=True)

    def take(self) -> Any:
        return self._take(functools.partial(self._placing.place, is_stacked=False))

    def _take(self, place: Callable[[list[Any], StepKind], list[Any]]) -> Any:
        """Take the next step, with its arrays as they are placed."""
        if self._is_closed:
            raise _make_closed_error()
        steps: Any
        try:
            steps, at = self._feed.take()
        except StopIteration:
            # Not StopIteration: streams say it with an error that compiled functions can pass on.
            raise ran_out(1, 0) from None
        leaves = [leaf[at] for leaf in steps.leaves]
        try:
            arrays = place(leaves, steps.kind)
        except errors.BadTypeError:
            arrays = distributed.place_numbers(place, leaves, steps.kind)
        return wrap_step(arrays, steps.treedef, steps.kind)

    def peek_block(self, skip: int, count: int, capacity: int) -> Any:
        if self._is_closed:
            raise _make_closed_error()
        steps: Any
        columns, steps = stack_elements(self._feed, skip, count, capacity)
        return steps.wrap(self._placing.place(columns, steps.kind, is_stacked=True))

    def pass_over(self, count: int) -> None:
        """Read steps and drop them, all workers together; raise `OutOfRangeError` if there are fewer."""
        if self._is_closed:
            raise _make_closed_error()
        _pass_over(self._feed, count)

    def get_next(self) -> Any:
        """Take the next element, as `next(iterator)`; at the end, raise `OutOfRangeError`, as TensorFlow's."""
        try:
            return next(self)
        except StopIteration:
            raise errors.OutOfRangeError("The dataset has no more elements.") from None

    def get_state(self) -> dict[str, Any]:
        """Return the position behind the last element that was taken, as a small dict that JSON can hold.

        With several workers each has a state of its own, except where all read the same dataset: then it is the same
        for any number of workers.

        Returns:
            What :meth:`set_state` takes, in this process or another, of an iterator over an equal dataset.

        Raises:
            DataError: The source can't be put back: a Python generator, or a foreign iterable.
        """
        position = self._feed.get_state()
        return {
            "version": _STATE_VERSION,
            "readers": self._source.num_readers,
            "elements": self._source.elements_in_step,
            "place": position["child"],
            "steps": position["skip"],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position that :meth:`get_state` gave: the next element is the one after it.

        Args:
            state: The saved position.

        Raises:
            DataError: The state is not one, or comes from another pipeline.
        """
        _check_state(state, self._source.num_readers)
        # Saved by another number of replicas, the same position is another number of elements.
        position, steps = self._source.behind(state["place"], state["steps"], state["elements"])
        # Opened before the present pass is given up: a state that does not fit changes nothing.
        feed = self._feed_over(self._source.open(position))
        try:
            _pass_over(feed, steps)
        except BaseException:
            feed.close()
            raise
        # The old pass ends here; its finalizer would end it a second time.
        self._finalizer.detach()
        self._feed.close()
        self._use(feed)

    def close(self) -> None:
        """Stop reading ahead, and release the source."""
        self._is_closed = True
        self._feed.close()

    def __enter__(self) -> "DistributedIterator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def limit_ahead(iterator: DistributedIterator, steps: float) -> None:
    """Have an iterator read no more than so many steps ahead of those that were taken, unless they are asked for.

    What is read ahead of a source that can't be begun anew, such as a generator, is lost to whoever takes the next
    elements from it.

    Args:
        iterator: The iterator.
        steps: How many; infinity for no limit, which is the default.
    """
    iterator._feed.limit_ahead(steps)


def take_for_program(iterator: DistributedIterator) -> Any:
    """Take the next element as an argument of a compiled program, which may have to move it to its device.

    Args:
        iterator: The iterator.

    Raises:
        OutOfRangeError: There is none.
    """
    return iterator._take(iterator._placing.hand_over)


def _make_closed_error() -> errors.DataError:
    return errors.DataError(
        "An iterator of a distributed dataset was used after close(). Make a new one with `iter(dataset)`."
    )


def _pass_over(feed: StepFeed, count: int) -> None:
    """Take steps and drop them."""
    passed = 0
    while passed < count:
        try:
            passed += feed.read(min(count - passed, _STEPS_AT_ONCE)).count
        except StopIteration:
            raise ran_out(count, passed) from None


def _check_state(state: Any, num_readers: int) -> None:
    counts = ("readers", "elements", "steps")
    is_one = isinstance(state, dict) and state.get("version") == _STATE_VERSION and "place" in state
    if not is_one or not all(is_count(state.get(name)) for name in counts):
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
