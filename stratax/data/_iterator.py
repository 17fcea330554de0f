"""What `iter(dataset)` gives: elements, blocks of elements, and a position that can be saved (data layer)."""

import threading
import weakref
from typing import Any

from stratax.data._block import Block, concatenate_blocks
from stratax.data._node import IndexReader, Node, Order, Run, read_ahead, walk
from stratax.data._prefetch import PrefetchReader, Reader, RowReader, depth_at_root
from stratax.data._sources import Generator
from stratax.data._structure import Structure, unflatten
from stratax.errors import BadArgumentError, DataError

_VERSION = 1


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


class DatasetIterator:
    """Iterates over a Dataset once.

    Usable in a `with` block, which ends its background threads at the end; they also end at the last element and
    when the iterator is garbage collected.

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
        self._held: Block | None = None
        self._failure: Exception | None = None
        self._reader = _reader_of(self._node, self._run, position)

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the elements."""
        return self._node.spec

    def __iter__(self) -> "DatasetIterator":
        return self

    def __next__(self) -> Any:
        """The next element: NumPy arrays (scalars for rank 0) on the host, which the caller may change."""
        if self._held is None:
            self._held = self._read(read_ahead(self._node) if self._node.is_indexable else 1)
        block = self._held
        self._held = block.slice(1, block.count) if block.count > 1 else None
        self._position += 1
        return self._element(block.row(0))

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
        pieces = self._pieces(k)
        block = concatenate_blocks(pieces)
        self._position += block.count
        return self._element(block.columns()), block.count

    def _pieces(self, k: int) -> list[Block]:
        """Blocks of one shape with up to `k` elements together, at least one."""
        pieces: list[Block] = []
        missing = k
        while missing:
            try:
                block = self._held or self._read(missing)
            except StopIteration:
                if not pieces:
                    raise
                break
            except Exception as e:
                if not pieces:
                    raise
                self._failure = e
                break
            self._held = None
            if pieces and block.shapes != pieces[0].shapes:
                self._held = block
                break
            if block.count > missing:
                self._held = block.slice(missing, block.count)
                block = block.slice(0, missing)
            pieces.append(block)
            missing -= block.count
        return pieces

    def _read(self, limit: int) -> Block:
        if self._is_closed:
            raise StopIteration
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._position += 1
            raise failure
        try:
            return self._reader.read(limit)
        except StopIteration:
            self.close()
            raise
        except Exception:
            self._position += 1
            raise

    def get_state(self) -> dict[str, Any]:
        """The position as a small dict that JSON can hold.

        Returns:
            What :meth:`set_state` takes, in this process or another, of an iterator over an equal pipeline.

        Raises:
            DataError: The pipeline reads a Python generator, whose position nobody knows.
        """
        for node in walk(self._node):
            if isinstance(node, Generator):
                raise DataError(
                    "The position of this iterator can't be saved: it reads a Python generator, which can't be put "
                    f"back. Received: from_generator({node.name}). Use from_tensor_slices or range with map."
                )
        return {
            "version": _VERSION,
            "plan": _fingerprint(self._node),
            "iteration": self._run.iteration,
            "position": self._position,
            "seeds": [self._run.seeds.get(id(order), order.seed) for order in _orders(self._node)],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes to a position that :meth:`get_state` gave.

        In an indexable plan this takes no time. A stream (`filter`, `flat_map`, a buffered `shuffle`...) is read again
        from its beginning up to the position, which calls its functions again.

        Args:
            state: The saved position.

        Raises:
            DataError: The state is not one, or comes from another pipeline.
        """
        orders = _orders(self._node)
        seeds = self._checked_seeds(state, len(orders))
        self._finalizer.detach()
        self._run.close()
        self._is_closed = False
        by_order = {id(order): seed for order, seed in zip(orders, seeds, strict=True)}
        self._start(state["iteration"], by_order, state["position"])
        self._epochs.continue_after(state["iteration"], by_order)

    def _checked_seeds(self, state: Any, count: int) -> list[int]:
        keys = {"version", "plan", "iteration", "position", "seeds"}
        if not isinstance(state, dict) or set(state) != keys or state["version"] != _VERSION:
            raise DataError(
                f"A state of a Dataset iterator has the keys {sorted(keys)} and version {_VERSION}. "
                f"Received: state={state!r}. Pass what get_state() returned."
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
        self._held = None
        self._run.close()

    def __enter__(self) -> "DatasetIterator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _reader_of(node: Node, run: Run, position: int) -> Reader:
    if not node.is_indexable:
        rows = node.rows(run)
        for _ in range(position):
            next(rows, None)
        return RowReader(rows)
    reader = IndexReader(node, run, position=position)
    depth = depth_at_root(node)
    if not depth:
        return reader
    ahead = PrefetchReader(reader, depth)
    run.on_close(ahead.close)
    return ahead


def _orders(node: Node) -> list[Order]:
    unique = {id(step.order): step.order for step in walk(node) if step.order is not None}
    return list(unique.values())


def _fingerprint(node: Node) -> str:
    return " < ".join(step.describe() for step in walk(node))
