"""What `iter(dataset)` gives: elements, blocks of elements, and a position that can be saved (data layer)."""

import reprlib
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from stratax.data._block import Block, concatenate_blocks
from stratax.data._cursor import Cursor, State
from stratax.data._feed import Feed
from stratax.data._node import IndexCursor, Lookahead, Node, Order, Run, walk
from stratax.data._orbax import Checkpointable
from stratax.data._place import from_json, to_json
from stratax.data._prefetch import PrefetchCursor, depth_at_root
from stratax.data._sources import Generator
from stratax.data._structure import Structure, unflatten
from stratax.errors import BadArgumentError, DataError, StrataxError

_VERSION = 3
# What comes of a place that does not fit the pipeline, or of data that end before it.
_MISFITS = (LookupError, TypeError, ValueError, AttributeError, StopIteration)
_KEYS = {"version", "plan", "iteration", "position", "seeds", "place"}


class Epochs:
    """Counts how many times a Dataset was iterated.

    Attributes:
        seeds: Seeds of a restored state that take the place of the shuffles' own, by the identity of their Order.
    """

    def __init__(self) -> None:
        self.seeds: dict[int, int] = {}
        self._next = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        """The number of the iteration that starts now."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def continue_after(self, iteration: int, seeds: dict[int, int]) -> None:
        """The next iterations will come after `iteration`, in the orders of `seeds`."""
        with self._lock:
            self._next = iteration + 1
            self.seeds = seeds


class DatasetIterator(Checkpointable):
    """Iterates over a Dataset once.

    Usable in a `with` block, which ends its background threads at the end; they also end at the last element and
    when the iterator is garbage collected.

    Its place can be saved: as JSON (:meth:`get_state`), and with a model by Orbax: `ocp.args.JsonSave(it.get_state())`,
    or the iterator itself where Orbax takes objects that save themselves (`save_checkpointables`).

    Args:
        node: The plan.
        epochs: The Dataset's count of iterations.
        max_threads: Upper limit of the threads for `map`.
    """

    def __init__(self, node: Node, epochs: Epochs, max_threads: int | None = None) -> None:
        self._node = node
        self._epochs = epochs
        self._max_threads = max_threads
        self._structure: Structure | None = None
        self._is_closed = False
        self._start(epochs.next(), epochs.seeds, 0)

    def _start(self, iteration: int, seeds: dict[int, int], position: int) -> None:
        self._run = Run(iteration, seeds, self._max_threads)
        self._finalizer = weakref.finalize(self, self._run.close, wait=False)
        self._position = position
        self._feed = Feed(_cursor_of(self._node, self._run, position), Lookahead(self._node))

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the elements."""
        return self._node.spec

    @property
    def num_ignored_errors(self) -> int:
        """How many elements `ignore_errors` left out since this iterator was made or restored; some read ahead."""
        return self._run.num_ignored

    def __iter__(self) -> "DatasetIterator":
        return self

    def __next__(self) -> Any:
        """The next element: NumPy arrays (scalars for rank 0) on the host, which the caller may change."""
        return self._element(self._counted(self._feed.row))

    def _element(self, leaves: list[Any]) -> Any:
        if self._structure is None:
            self._structure = self._node.structure
        return unflatten(self._structure, leaves)

    def next_block(self, k: int) -> tuple[Any, int]:
        """Up to `k` next elements of the same shapes, stacked.

        Over an indexable plan this is one gather per component, straight into `[count, ...]`. An element of another
        shape (a short last batch) comes alone, in a call of its own.

        Args:
            k: At most how many elements, at least 1.

        Returns:
            The structure of an element with arrays of `[count, ...]` on the host, and the count.

        Raises:
            StopIteration: There are no more elements.
        """
        if k < 1:
            raise BadArgumentError(f"A block has at least one element. Received: k={k!r}. Pass k >= 1.")
        pieces = [self._next_of_one_shape(k)]
        missing = k - pieces[0].count
        while missing and (block := self._more(missing, pieces[0])) is not None:
            pieces.append(block)
            missing -= block.count
        block = concatenate_blocks(pieces)
        return self._element(block.columns()), block.count

    def _next_of_one_shape(self, limit: int) -> Block:
        block = self._counted(lambda: self._feed.read(limit))
        self._position += block.count - 1
        return block

    def _counted(self, read: Callable[[], Any]) -> Any:
        """What `read` gives, which is one element; the end closes the iterator, and a failure counts."""
        if self._is_closed:
            raise StopIteration
        try:
            found = read()
        except StopIteration:
            self.close()
            raise
        except Exception as e:
            if self._is_closed and isinstance(e, CancelledError):
                # Another thread has closed the iterator meanwhile.
                raise StopIteration from e
            self._position += 1
            raise
        self._position += 1
        return found

    def _more(self, limit: int, first: Block) -> Block | None:
        """What follows, if it is of the same shape; else it stays for the next reading, as does a failure."""
        try:
            block = self._feed.peek(limit)
        except Exception:
            return None
        if block.shapes != first.shapes:
            return None
        self._feed.advance(block.count)
        self._position += block.count
        return block

    def get_state(self) -> dict[str, Any]:
        """The position as a small dict that JSON can hold.

        Returns:
            What :meth:`set_state` takes, in this process or another, of an iterator over an equal pipeline.

        Raises:
            DataError: The pipeline reads a Python generator, whose position nobody knows.
        """
        placeless = [node.without_place() for node in walk(self._node) if isinstance(node, Generator)]
        for error in (*placeless, *self._run.placeless):
            raise error
        return {
            "version": _VERSION,
            "plan": _fingerprint(self._node),
            "iteration": self._run.iteration,
            "position": self._position,
            "seeds": [order.saved_seed(self._run, i) for i, order in enumerate(_orders(self._node))],
            "place": None if self._node.is_indexable else to_json(self._feed.get_state()),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to a position that :meth:`get_state` gave.

        In an indexable plan this takes no time. A stream is read again from a place shortly before: what is in the
        buffer of a `shuffle` is made again, for instance.

        Args:
            state: The saved position.

        Raises:
            DataError: The state is not one, or comes from another pipeline; the iterator stays where it is. Or the data
                have become shorter than the position says; the iterator is closed then.
        """
        orders = _orders(self._node)
        seeds = self._checked_seeds(state, len(orders))
        self.close()
        self._finalizer.detach()
        self._is_closed = False
        by_order = {id(order): seed for order, seed in zip(orders, seeds, strict=True)}
        self._start(state["iteration"], by_order, state["position"])
        if state["place"] is not None:
            self._go_to(from_json(state["place"]))
        self._epochs.continue_after(state["iteration"], by_order)

    def _go_to(self, place: State) -> None:
        try:
            self._feed.set_state(place)
        except BaseException as e:
            self.close()
            if isinstance(e, StrataxError) or not isinstance(e, _MISFITS):
                raise
            raise DataError(
                "The saved place could not be reached. Expected: a state of this pipeline, over the same data. "
                f"Received: place={reprlib.repr(place)}, which gave {e!r}. Pass what get_state() returned."
            ) from e

    def _checked_seeds(self, state: Any, count: int) -> list[int]:
        if not _is_state(state):
            raise DataError(
                f"A state of a Dataset iterator has the keys {sorted(_KEYS)} and version {_VERSION}. "
                f"Received: state={reprlib.repr(state)}. Pass what get_state() returned."
            )
        if state["plan"] != _fingerprint(self._node) or len(state["seeds"]) != count:
            raise DataError(
                "The state belongs to another pipeline, so its position means nothing here. "
                f"Expected: plan={_fingerprint(self._node)!r}. Received: plan={state['plan']!r}. "
                "Build the same pipeline as when the state was saved."
            )
        return list(state["seeds"])

    def close(self) -> None:
        """Ends the iteration and its background threads, and waits for them."""
        self._is_closed = True
        self._run.close()
        self._feed.close()

    def __enter__(self) -> "DatasetIterator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _is_state(state: Any) -> bool:
    if not isinstance(state, dict) or set(state) != _KEYS or state["version"] != _VERSION:
        return False
    numbers = state["seeds"] if isinstance(state["seeds"], list) else [None]
    are_numbers = all(type(number) is int for number in (state["iteration"], state["position"], *numbers))
    return are_numbers and state["iteration"] >= 0 and state["position"] >= 0


def _cursor_of(node: Node, run: Run, position: int) -> Cursor:
    if not node.is_indexable:
        return node.open(run)
    cursor = IndexCursor(node, run, position=position)
    depth = depth_at_root(node)
    return PrefetchCursor(cursor, depth, run) if depth else cursor


def _orders(node: Node) -> list[Order]:
    unique = {id(step.order): step.order for step in walk(node) if step.order is not None}
    return list(unique.values())


def _fingerprint(node: Node) -> str:
    return " < ".join(step.describe() for step in walk(node))
