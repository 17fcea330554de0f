"""Cursors that turn the elements of a dataset into steps, whatever the dataset is (distribute layer)."""

import abc
import collections
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.data.dataset import Dataset, open_cursor
from stratax.data.elements import (
    Block,
    Composite,
    are_plain,
    as_objects,
    copy_leaf,
    is_composites,
    is_of_composites,
    unflatten,
)
from stratax.data.iteration import Stacks
from stratax.data.plan import PlanRun
from stratax.data.position import Cursor, Positions, State, one
from stratax.distribute.input._steps import AsSteps, Steps

# From a sparse or ragged component to an array, or itself.
Convert = Callable[[Any], Any]


def _nothing() -> None:
    """Interrupt nothing: most cursors wait for their source alone."""


class StepCursor(Cursor):
    """A cursor whose elements are the steps of a strategy.

    Attributes:
        run: Ends the threads of its pass; whoever opened the cursor closes it.
        depth: How many steps the dataset itself wants to be read ahead, which is left to who reads from here.
        ahead: Gives how many may be read at once though fewer are asked for, where that is unobservable.
        interrupt: Ends a wait of :meth:`read` in another thread for something else than the source.
        waits_for_others: Whether :meth:`read` waits for other workers at the moment, and not for its source.
    """

    run: PlanRun
    depth = 0
    ahead: Callable[[], int] = staticmethod(one)
    interrupt: Callable[[], None] = staticmethod(_nothing)
    waits_for_others = False

    @abc.abstractmethod
    def read(self, limit: int) -> Steps:
        """Return the next 1 to `limit` steps of one structure; raise StopIteration at the end."""


def open_elements(
    dataset: Any, as_steps: AsSteps, *, leaves_prefetch: bool = False, convert: Convert | None = None
) -> StepCursor:
    """Begin a pass over a dataset's elements.

    Args:
        dataset: A `stratax.data.Dataset`, or any iterable of structures of arrays.
        as_steps: Makes steps of them.
        leaves_prefetch: Whether a `prefetch` at the end of the dataset is left to who reads from the cursor.
        convert: Makes something else of sparse and ragged components of a Dataset; None to leave them as they are.
    """
    # A Dataset's plan is opened directly: its own iterator would make structures of single elements.
    if isinstance(dataset, Dataset):
        return PlanElements(dataset, as_steps, leaves_prefetch=leaves_prefetch, convert=convert)
    iterator = iter(dataset)
    return (StackElements if isinstance(iterator, Stacks) else IterableElements)(iterator, as_steps)


class PlanElements(StepCursor):
    """The elements of a `stratax.data.Dataset`, which come from the cursor of its plan.

    Args:
        dataset: The Dataset.
        as_steps: Makes steps of elements.
        leaves_prefetch: Whether its outermost `prefetch` is left to who reads from here.
        convert: Makes something else of sparse and ragged components.
    """

    def __init__(
        self, dataset: Dataset, as_steps: AsSteps, *, leaves_prefetch: bool, convert: Convert | None
    ) -> None:
        self._as_steps = as_steps
        self._convert = convert
        # None as long as nobody knows.
        self._has_composites: bool | None = None
        self._leaves_prefetch = leaves_prefetch
        self._iteration = open_cursor(dataset)
        self._num_read = 0
        self._has_ended = False
        self._treedef: Any = None
        # The Dataset's own order of components differs: it keeps a dict's keys as they come.
        self._order: list[int] | None = None
        self._begin()

    def _begin(self) -> None:
        iteration = self._iteration
        self.run = iteration.run
        self.depth = iteration.depth if self._leaves_prefetch else 0
        self.ahead = iteration.ahead
        # Without a thread of the Dataset's own there is one less queue between source and devices.
        self._is_bare = self._leaves_prefetch or not iteration.depth
        self._child = iteration.cursor if self._is_bare else iteration.feed()

    def read(self, limit: int) -> Steps:
        if self._has_ended:
            raise StopIteration
        if self._has_composites is None:
            self._has_composites = self._iteration.has_composites
        try:
            # The arrays of sparse and ragged components can't be stacked; where nobody knows, one element tells.
            block = self._child.read(1 if self._has_composites in (None, True) else limit)
        except StopIteration:
            self._has_ended = True
            raise
        except Exception:
            # An element that fails counts: the position behind it is the next one's.
            self._num_read += 1
            raise
        self._num_read += block.count
        if self._has_composites is None:
            self._has_composites = is_of_composites(block)
        return self._as_steps(self._leaves(block), block.count, self._treedef)

    def _leaves(self, block: Block) -> list[np.ndarray]:
        """Return the components in the order of JAX, which sorts the keys of a dict."""
        columns = block.columns()
        if self._has_composites and self._convert is not None:
            columns = [_convert(column, self._convert) for column in columns]
        if self._order is None:
            # Only now: to know the structure before there is an element takes a call of a function of the user's.
            numbers = unflatten(self._iteration.structure, range(len(columns)))
            self._order, self._treedef = jax.tree.flatten(numbers)
        return [columns[i] for i in self._order]

    def skip(self, count: int) -> int:
        """Pass over elements, without making them where that can be avoided."""
        passed = self._child.skip(count)
        self._num_read += passed
        return passed

    def get_state(self) -> State:
        """Return the position of the Dataset, as its own iterator gives it."""
        self._iteration.check_has_positions()
        cursor = self._child
        position = {"child": cursor.get_state(), "skip": 0} if self._is_bare else cursor.get_state()
        return self._iteration.position(position, self._num_read)

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned, or the Dataset's own iterator."""
        position = self._iteration.begin_at(state)
        self._child.close()
        self._num_read = 0
        self._begin()
        if position is not None:
            go_to = Positions(self._child).go_to if self._is_bare else self._child.set_state
            self._iteration.go_to(go_to, position)

    def close(self) -> None:
        """Close the cursor of the plan."""
        self._child.close()


def _convert(column: np.ndarray, convert: Convert) -> np.ndarray:
    """Return a column of one element with its composite as something else."""
    made = convert(column[0]) if is_composites(column) else None
    return column if made is None else made[None] if isinstance(made, np.ndarray) else as_objects([made])


class StackElements(StepCursor):
    """The elements of an iterator that stacks them by itself.

    Args:
        iterator: The iterator.
        as_steps: Makes steps of elements.
    """

    def __init__(self, iterator: Stacks, as_steps: AsSteps) -> None:
        self.run = PlanRun()
        self._iterator = iterator
        self._as_steps = as_steps
        self._has_composites: bool | None = None

    def read(self, limit: int) -> Steps:
        # Stacked already; taking it apart into elements would only cost time.
        stacked, count = self._iterator.next_block(limit if self._has_composites is False else 1)
        leaves, treedef = jax.tree.flatten(stacked)
        if self._has_composites is None:
            self._has_composites = not are_plain(leaves)
        return self._as_steps(leaves, count, treedef)

    def get_state(self) -> State:
        return self._iterator.get_state()

    def set_state(self, state: State) -> None:
        self._iterator.set_state(state)

    def close(self) -> None:
        """Close the iterator that the elements come from."""
        self._iterator.close()


class IterableElements(StepCursor):
    """The elements of a foreign iterable, as long as they have one shape; its position is unknown.

    Args:
        iterator: Gives structures of arrays.
        as_steps: Makes steps of elements.
    """

    def __init__(self, iterator: Iterator[Any], as_steps: AsSteps) -> None:
        self.run = PlanRun()
        self._iterator = iterator
        self._as_steps = as_steps
        self._treedef: Any = None
        self._is_leaf: Callable[[Any], bool] | None = lambda part: isinstance(part, Composite)
        # What was read and does not go with the elements before it: another shape, or an error that is told later.
        self._held: collections.deque[list[np.ndarray] | Exception] = collections.deque()

    def read(self, limit: int) -> Steps:
        elements = [self._next()]
        while len(elements) < limit:
            try:
                element = self._next()
            except StopIteration:
                break
            except Exception as error:  # What came before it is not lost: it is raised by the next call.
                self._held.append(error)
                break
            if not _same_shapes(element, elements[0]):
                self._held.append(element)
                break
            elements.append(element)
        columns = zip(*elements, strict=True)
        # One element gets its leading dimension as a view, without a copy.
        stacked = [
            as_objects(column)
            if isinstance(column[0], Composite)
            else column[0][None]
            if len(column) == 1
            else np.stack(column)
            for column in columns
        ]
        return self._as_steps(stacked, len(elements), self._treedef)

    def _next(self) -> list[np.ndarray]:
        if self._held:
            held = self._held.popleft()
            if isinstance(held, Exception):
                raise held
            return held
        leaves, treedef = jax.tree.flatten(next(self._iterator), self._is_leaf)
        if self._treedef is None:
            self._treedef = treedef
            if not any(isinstance(leaf, Composite) for leaf in leaves):
                # Nor have later ones any: JAX need not ask.
                self._is_leaf = None
        elif treedef != self._treedef:
            raise errors.DataError(
                f"The structure of a dataset's elements changed. Expected: {self._treedef}. Received: {treedef}."
            )
        return [_host_array(leaf) for leaf in leaves]

    def get_state(self) -> State:
        raise errors.DataError(
            "The position of this input can't be saved: its iterator can't be put back. Expected: a "
            f"stratax.data.Dataset. Received: an iterator of type {type(self._iterator).__name__}."
        )

    def set_state(self, state: State) -> None:
        self.get_state()

    def close(self) -> None:
        """Close the iterator, where it can be closed, as a generator can."""
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()


def _host_array(leaf: object) -> Any:
    """Return a leaf of a foreign dataset (JAX, torch, TensorFlow, a number) as a NumPy array of its own.

    A generator may use one buffer for all its elements, and elements are read before they are used.
    """
    if isinstance(leaf, Composite):
        return copy_leaf(leaf.on_host())
    # JAX's arrays never change; all others may be a buffer that is filled again.
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else np.array(leaf)


def _same_shapes(left: list[Any], right: list[Any]) -> bool:
    return all(
        isinstance(a, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype
        for a, b in zip(left, right, strict=True)
    )
