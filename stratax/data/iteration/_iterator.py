"""What `iter(dataset)` gives: elements, blocks of elements, and a position that can be saved (data layer)."""

import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError
from typing import Any

import optree

from stratax.base import tracebacks
from stratax.base.shown import shown
from stratax.base.tensors import has_tensors
from stratax.base.tracing import TRACING
from stratax.data.elements import (
    Block,
    Structure,
    as_numpy_array,
    as_tensor,
    concatenate_blocks,
    expand_structure,
    is_of_composites,
    unflatten,
)
from stratax.data.iteration._iteration import Epochs, Iteration
from stratax.data.iteration._stacks import Stacks
from stratax.data.iteration._stream_elements import describe_element, runs, stack_elements, tracing_region
from stratax.data.plan import Node
from stratax.data.position import Checkpointable
from stratax.errors import BadArgumentError, OutOfRangeError


class DatasetIterator(Checkpointable, Stacks):
    """Iterates over a Dataset once.

    A compiled function can call `next` on it, whether the function closes over it or takes it as an argument: every
    call takes the next elements.

    Usable in a `with` block, which ends its background threads at the end; they also end at the last element and
    when the iterator is garbage collected.

    Its place can be saved: as JSON (:meth:`get_state`), and with a model by Orbax: `ocp.args.JsonSave(it.get_state())`,
    or the iterator itself where Orbax takes objects that save themselves (`save_checkpointables`).

    Args:
        node: The plan.
        epochs: The Dataset's count of iterations.
        max_threads: Upper limit of the threads for `map`.
        as_numpy: Whether elements are plain arrays also in programs that import `stratax.tf`.
    """

    def __init__(
        self, node: Node, epochs: Epochs, max_threads: int | None = None, *, as_numpy: bool = False
    ) -> None:
        self._node = node
        # In programs of TensorFlow's elements have the methods of tensors.
        self._convert = as_numpy_array if as_numpy else as_tensor if has_tensors() else None
        self._structure: Structure | None = None
        # Whether an element is one array or text, once the structure is known.
        self._is_leaf = False
        self._signature: Hashable = None
        self._iteration = Iteration(node, epochs, max_threads)
        self._begin()

    def _begin(self) -> None:
        self._is_closed = False
        # A forgotten iterator ends its threads; a finalizer must not wait, as it may run in one of them.
        self._finalizer = weakref.finalize(self, self._iteration.run.close, wait=False)
        self._feed = self._iteration.feed()

    @property
    def element_spec(self) -> Any:
        """Structure of the specs of the elements."""
        return self._node.spec

    @property
    def num_ignored_errors(self) -> int:
        """How many elements `ignore_errors` left out since this iterator was made or restored; some read ahead."""
        return self._iteration.run.num_ignored

    def __iter__(self) -> Any:
        if TRACING.get() and (region := tracing_region()) is not None:
            return region.iterate(self)
        return self

    def __next__(self) -> Any:
        """Return the next element: NumPy arrays (scalars for rank 0) on the host, which the caller may change.

        Sparse and ragged components are SparseTensors and RaggedTensors of such arrays.

        In a program that imports `stratax.tf` they, and `bytes`, have the methods of TensorFlow's tensors.
        """
        if TRACING.get() and (region := tracing_region()) is not None:
            return region.next_element(self)
        try:
            leaves = self._unless_closed(self._feed.row)
        except Exception as error:
            tracebacks.shorten(error)
            raise
        # An element that is one array or text is not put together: of small ones millions are asked for.
        convert = self._convert
        if self._is_leaf:
            return leaves[0] if convert is None else convert(leaves[0])
        return self._element(leaves if convert is None else [convert(leaf) for leaf in leaves])

    def get_next(self) -> Any:
        """Return the next element, as `next` gives it.

        Raises:
            OutOfRangeError: There are no more elements.
        """
        try:
            return next(self)
        except OutOfRangeError:
            raise
        except StopIteration:
            raise OutOfRangeError("The dataset has no more elements.") from None

    @property
    def signature(self) -> Hashable:
        """See `stratax.core.Stream`, as for the following methods."""
        if self._signature is None:
            spec = repr(self._node.spec) if self._node.has_known_spec else None
            self._signature = (DatasetIterator, spec)
        return self._signature

    def peek_runs(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """Return the structures of coming elements, run-length coded; none is taken."""
        if self._is_closed:
            raise OutOfRangeError(
                "The iterator has no more elements, or was closed. Make a new one with iter(dataset)."
            )
        return runs(self._feed, self._describe, skip, count, up_to=False, differ=is_of_composites)

    def peek_up_to(self, skip: int, count: int) -> list[tuple[Any, int]]:
        """Return the same of as many elements as there are."""
        if self._is_closed:
            return []
        return runs(self._feed, self._describe, skip, count, up_to=True, differ=is_of_composites)

    def peek_block(self, skip: int, count: int, capacity: int) -> Any:
        """Coming elements, which :meth:`peek_runs` has shown, stacked and padded to `capacity`."""
        columns, block = stack_elements(self._feed, skip, count, capacity)
        structure = self._elements_structure()
        if is_of_composites(block):
            structure = expand_structure(structure, block.row(0))
        return unflatten(structure, columns)

    def take(self) -> Any:
        """Return the next element, which :meth:`peek_runs` has shown."""
        return self._element(self._unless_closed(self._feed.row))

    def take_block(self, count: int, capacity: int) -> Any:
        """Return the next `count` elements, which :meth:`peek_runs` has shown, stacked and padded to `capacity`."""
        block = self.peek_block(0, count, capacity)
        self.pass_over(count)
        return block

    def pass_over(self, count: int) -> None:
        """Take elements that :meth:`peek_runs` has shown."""
        # The elements are at hand, so that no reading fails here.
        while count:
            count -= self._feed.read(count).count

    def get_next_as_optional(self) -> Any:
        """Return the next element if there is one, in an object with `has_value()` and `get_value()`."""
        from stratax.core import regions

        return regions.next_optional(self)

    def _describe(self, block: Block) -> Any:
        return describe_element(block, self._elements_structure())

    def _elements_structure(self) -> Structure:
        if self._structure is None:
            self._structure = self._node.structure
            self._is_leaf = bool(self._structure.kind == optree.PyTreeKind.LEAF)
            if self._convert is as_numpy_array and not self._node.composites:
                # What elements are made of is plain already.
                self._convert = None
        return self._structure

    def _element(self, leaves: list[Any]) -> Any:
        return unflatten(self._elements_structure(), leaves)

    def next_block(self, k: int) -> tuple[Any, int]:
        """Return up to `k` next elements of the same shapes, stacked; sparse and ragged ones in arrays of objects.

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
            raise BadArgumentError(f"A block has at least one element. Received: k={shown(k)}. Pass k >= 1.")
        # The pieces of several readings are joined: how the input is read must not decide how large a block
        # is.
        pieces = [self._next_of_one_shape(k)]
        missing = k - pieces[0].count
        while missing and (block := self._more(missing, pieces[0])) is not None:
            pieces.append(block)
            missing -= block.count
        block = concatenate_blocks(pieces)
        return self._element(block.columns()), block.count

    def _next_of_one_shape(self, limit: int) -> Block:
        block: Block = self._unless_closed(lambda: self._feed.read(limit))
        return block

    def _unless_closed(self, read: Callable[[], Any]) -> Any:
        """Return what `read` gives; the end closes the iterator."""
        if self._is_closed:
            raise StopIteration
        try:
            return read()
        except StopIteration:
            self.close()
            raise
        except CancelledError as e:
            if self._is_closed:
                # Another thread has closed the iterator meanwhile.
                raise StopIteration from e
            raise

    def _more(self, limit: int, first: Block) -> Block | None:
        """Return what follows, if it is of the same shape; else it stays for the next reading, as does a failure."""
        try:
            block = self._feed.peek(limit)
        except Exception:
            return None
        if block.shapes != first.shapes:
            return None
        self._feed.advance(block.count)
        return block

    def get_state(self) -> dict[str, Any]:
        """Return the position as a small dict that JSON can hold.

        Returns:
            What :meth:`set_state` takes, in this process or another, of an iterator over an equal pipeline.

        Raises:
            DataError: The pipeline reads a Python generator, whose position nobody knows.
        """
        self._iteration.check_has_positions()
        place = {} if self._node.is_indexable else self._feed.get_state()
        return self._iteration.position(place, self._feed.num_passed)

    def set_state(self, state: dict[str, Any]) -> None:
        """Go to a position that :meth:`get_state` gave.

        In an indexable plan this takes no time. A stream is read again from a place shortly before: what is in the
        buffer of a `shuffle` is made again, for instance.

        Args:
            state: The saved position.

        Raises:
            DataError: The state is not one, or comes from another pipeline; the iterator stays where it is. Or the data
                have become shorter than the position says; the iterator is closed then.
        """
        feed = self._feed
        place = self._iteration.begin_at(state)
        feed.close()
        # It would close the run of the new iteration as well as hold the old one.
        self._finalizer.detach()
        self._begin()
        if place is not None:
            try:
                self._iteration.go_to(self._feed.set_state, place)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the iteration and its background threads, and wait for them."""
        # First: a thread that is interrupted below finds out why.
        self._is_closed = True
        self._iteration.run.close()
        self._feed.close()

    def __enter__(self) -> "DatasetIterator":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
