"""One iteration over a plan: its cursor, what its nodes share, and its position as JSON (data layer)."""

from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.data.elements import Structure
from stratax.data.ops import Prefetch
from stratax.data.plan import IndexCursor, Lookahead, Node, Order, OwnLock, PlanRun, walk
from stratax.data.position import Cursor, Feed, ReadAhead, State, from_json, to_json
from stratax.data.sources import GeneratorElements
from stratax.errors import DataError, StrataxError

_VERSION = 3
# What comes of a position that does not fit the pipeline, or of data that end before it.
_MISFITS = (LookupError, TypeError, ValueError, AttributeError, StopIteration)
_KEYS = {"version", "plan", "iteration", "position", "seeds", "place"}


class Epochs:
    """Counts how many times a Dataset was iterated.

    Attributes:
        seeds: Seeds of a restored state that take the place of the shuffles' own, by the identity of their Order.
        trained: How many epochs of training have used the Dataset; kept for who numbers its passes by epochs.
    """

    def __init__(self) -> None:
        self.seeds: dict[int, int] = {}
        self.trained = 0
        self._next = 0
        self._lock = OwnLock()

    @property
    def upcoming(self) -> int:
        """The number of the iteration that starts next."""
        return self._next

    def next(self) -> int:
        """Return the number of the iteration that starts now."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def continue_after(self, iteration: int, seeds: dict[int, int]) -> None:
        """Let the next iterations come after `iteration`, in the orders of `seeds`."""
        with self._lock:
            self._next = iteration + 1
            self.seeds = seeds


class Iteration:
    """One iteration over a plan.

    Elements do not pass through it: they come from :attr:`cursor`, or from :meth:`feed`.

    Args:
        node: The plan.
        epochs: The Dataset's count of iterations.
        max_threads: Upper limit of the threads for `map`.

    Attributes:
        run: What the nodes share; it ends all threads of the iteration.
        cursor: Gives the elements; what the plan's outermost `prefetch` would do is left to who reads from it.
        ahead: Gives how many elements may be read at once though fewer are asked for.
        depth: How many elements that `prefetch` wants to be read ahead; 0 for none.
    """

    def __init__(self, node: Node, epochs: Epochs, max_threads: int | None = None) -> None:
        self._node = node
        self._epochs = epochs
        self._max_threads = max_threads
        self.ahead = Lookahead(node)
        # A `prefetch` at the root is done by the iterator's own feed: a cursor for it would be a second
        # thread.
        self._is_streamed_ahead = isinstance(node, Prefetch) and not node.is_indexable and node.depth > 0
        self._start(epochs.next(), epochs.seeds, 0)

    def _start(self, iteration: int, seeds: dict[int, int], position: int) -> None:
        node = self._node
        self.run = PlanRun(iteration, seeds, self._max_threads)
        self._first = position
        self.depth = 0
        self.cursor: Cursor
        if node.is_indexable:
            # An indexable plan goes to any position at once; nothing is read again.
            self.cursor, self.depth = IndexCursor(node, self.run, position=position), _depth_at_root(node)
        elif self._is_streamed_ahead:
            self.cursor, self.depth = node.children[0].open(self.run), _depth_at_root(node)
        else:
            self.cursor = node.open(self.run)

    @property
    def structure(self) -> Structure:
        """The structure of the elements."""
        return self._node.structure

    @property
    def has_composites(self) -> bool | None:
        """Whether elements have sparse or ragged components; None where a function has to be called to know it."""
        return bool(self._node.composites) if self._node.has_known_spec else None

    def feed(self) -> Feed:
        """Return a feed that buffers the cursor's elements until they are used, and reads ahead if the plan says so."""
        if self.depth:
            return ReadAhead(self.cursor, self.depth, self.run, ahead=self.ahead)
        return Feed(self.cursor, self.ahead)

    def position(self, place: State, num_passed: int) -> dict[str, Any]:
        """Return a position as JSON can hold it.

        Args:
            place: That of a feed over the cursor, which was asked for behind :meth:`check_has_positions`.
            num_passed: How many elements lie before it.
        """
        if self._is_streamed_ahead:
            # As the plan's own `prefetch` would save it, so that positions do not depend on who reads ahead.
            place = {"child": place, "skip": 0}
        return {
            "version": _VERSION,
            # Checked when a position is restored: in another plan the same numbers mean other elements.
            "plan": fingerprint(self._node),
            "iteration": self.run.iteration,
            "position": self._first + num_passed,
            "seeds": [order.find_saved_seed(self.run, i) for i, order in enumerate(orders_of(self._node))],
            "place": None if self._node.is_indexable else to_json(place),
        }

    def check_has_positions(self) -> None:
        """Raise an error where the pipeline reads what has no position.

        Raises:
            DataError: It reads a Python generator.
        """
        placeless = [node.without_place() for node in walk(self._node) if isinstance(node, GeneratorElements)]
        for error in (*placeless, *self.run.placeless):
            raise error

    def begin_at(self, state: dict[str, Any]) -> State | None:
        """End this iteration and begin the one of a saved position.

        Args:
            state: What :meth:`position` returned.

        Returns:
            Where a feed over the new cursor has to go; None if it is there.

        Raises:
            DataError: The state is not one, or comes from another pipeline; the iteration stays as it is.
        """
        orders = orders_of(self._node)
        seeds = self._check_seeds(state, len(orders))
        # After the check: a position that does not fit leaves the iteration as it was.
        self.run.close()
        by_order = {id(order): seed for order, seed in zip(orders, seeds, strict=True)}
        self._start(state["iteration"], by_order, state["position"])
        # The following epochs continue as they would have in the program that saved the position.
        self._epochs.continue_after(state["iteration"], by_order)
        return None if state["place"] is None else from_json(state["place"])

    def go_to(self, go: Callable[[State], None], place: State) -> None:
        """Bring a feed over the cursor to where :meth:`begin_at` said.

        Args:
            go: What brings it to a position.
            place: The position.

        Raises:
            DataError: The data have become shorter, or the position does not fit them.
        """
        try:
            if self._is_streamed_ahead:
                inner = place["child"]
                go({"child": inner["child"], "skip": inner["skip"] + place["skip"]})
            else:
                go(place)
        except BaseException as e:
            # Errors of the input, of a file system for example, are not mistaken for a wrong position.
            if isinstance(e, StrataxError) or not isinstance(e, _MISFITS):
                raise
            raise DataError(
                "The saved position could not be reached. Expected: a state of this pipeline, over the same data. "
                f"Received: place={shown(place)}, which gave {shown(e)}. Pass what get_state() returned."
            ) from e

    def _check_seeds(self, state: Any, count: int) -> list[int]:
        if not _is_state(state):
            raise DataError(
                f"A state of a Dataset iterator has the keys {sorted(_KEYS)} and version {_VERSION}. "
                f"Received: state={shown(state)}. Pass what get_state() returned."
            )
        if state["plan"] != fingerprint(self._node) or len(state["seeds"]) != count:
            raise DataError(
                "The state belongs to another pipeline, so its position means nothing here. "
                f"Expected: plan={shown(fingerprint(self._node))}. Received: plan={shown(state['plan'])}. "
                "Build the same pipeline as when the state was saved."
            )
        return list(state["seeds"])


def _depth_at_root(node: Node) -> int:
    """Return how many elements the iterator of an indexable plan reads ahead: by the outermost `prefetch`, 0 for none.

    One below a `batch` counts what the batches take.
    """
    per_element = 1
    while len(node.children) == 1:
        if isinstance(node, Prefetch):
            # What was meant as elements counts as batches behind the `batch`.
            return max(1, node.depth // per_element) if node.depth else 0
        per_element *= node.group_size
        node = node.children[0]
    return 0


def _is_state(state: object) -> bool:
    if not isinstance(state, dict) or set(state) != _KEYS or state["version"] != _VERSION:
        return False
    numbers = state["seeds"] if isinstance(state["seeds"], list) else [None]
    # `type`, since JSON's `true` would be an `int` for `isinstance`.
    are_numbers = all(type(number) is int for number in (state["iteration"], state["position"], *numbers))
    return are_numbers and state["iteration"] >= 0 and state["position"] >= 0


def orders_of(node: Node) -> list[Order]:
    """Return what identifies the sources of randomness of a plan, each once."""
    unique = {id(step.order): step.order for step in walk(node) if step.order is not None}
    return list(unique.values())


def fingerprint(node: Node) -> str:
    """Return what two plans have in common in which a position means the same."""
    return " < ".join(step.describe() for step in walk(node))
