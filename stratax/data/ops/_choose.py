"""`sample_from_datasets` and `choose_from_datasets`: elements of several nodes, in an order that numbers give.

The data layer's node, its cursor, and the numbers that are drawn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Block,
    Columns,
    TensorSpec,
    flatten,
)
from stratax.data.ops._concatenate import common_spec
from stratax.data.plan import Node, OverOne, Passes, PlanRun, feed_of
from stratax.data.position import Cursor, Feed, State
from stratax.errors import BadTypeError, DataError

_WORDS = 2.0**32


class WeightedNumbers(OverOne):
    """Numbers of nodes, drawn with some weights.

    Args:
        random: Random integers below 2**32; or pairs of such an integer and the weights of that draw.
        weights: The weights of all draws, if they are not with each.
    """

    label = "Weighted"

    def __init__(self, random: Node, weights: np.ndarray | None = None) -> None:
        super().__init__(random)
        self._weights = weights

    @property
    def spec(self) -> TensorSpec:
        """Describe an element: a scalar of int64."""
        return TensorSpec((), np.int64)

    def gather(self, indices: np.ndarray, passes: Passes, run: PlanRun) -> Block:
        """Draw the numbers at some positions."""
        return self._choose(self.child.gather(indices, passes, run))

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over draws whose weights come one after another."""
        return _WeightedCursor(feed_of(self.child, run, passes), self._choose)

    def _choose(self, block: Block) -> Block:
        draws, *given = block.columns()
        weights = np.asarray(given[0] if given else self._weights[None], np.float64)  # type: ignore[index]
        limits = np.cumsum(weights, axis=-1)
        # From 0 up to but not the sum of the weights.
        points = draws / _WORDS * limits[:, -1]
        chosen = (points[:, None] >= limits).sum(axis=1)
        return Columns([np.minimum(chosen, weights.shape[-1] - 1)], block.count)


class _WeightedCursor(Cursor):
    def __init__(self, feed: Feed, choose: Any) -> None:
        self._feed = feed
        self._choose = choose

    def read(self, limit: int) -> Block:
        block: Block = self._choose(self._feed.read(limit))
        return block

    def get_state(self) -> State:
        return self._feed.get_state()

    def set_state(self, state: State) -> None:
        self._feed.set_state(state)

    def close(self) -> None:
        self._feed.close()


class Choose(Node):
    """The next element of the node whose number comes next.

    Args:
        choices: Numbers of nodes.
        nodes: The nodes.
        stops_on_empty: Whether the end of one node ends the whole; else its number is passed over from then on.
    """

    label = "Choose"
    is_indexable = False

    def __init__(self, choices: Node, nodes: Sequence[Node], *, stops_on_empty: bool) -> None:
        self.children = (choices, *nodes)
        self._stops_on_empty = stops_on_empty

    @property
    def spec(self) -> Any:
        """What describes the elements of all.

        Raises:
            BadTypeError: Their structures or dtypes differ, or the choices are no numbers.
        """
        choice = self.children[0].spec
        if (
            not isinstance(choice, TensorSpec)
            or choice.dtype.kind not in "iu"
            or choice.shape not in ((), None)
        ):
            raise BadTypeError(
                "choice_dataset gives whole numbers, those of Datasets. "
                f"Received: element_spec={shown(choice)}. Cast its elements: map(lambda x: tf.cast(x, tf.int64))."
            )
        return common_spec("Datasets whose elements are chosen", self.children[1:])

    @property
    def length(self) -> int:
        """Not known; without an end where one of the nodes is."""
        lengths = [child.length for child in self.children[1:]]
        return INFINITE_CARDINALITY if INFINITE_CARDINALITY in lengths else UNKNOWN_CARDINALITY

    @property
    def is_uniform(self) -> bool:
        """Whether all are, with the same shapes."""
        shapes = [[spec.shape for spec in flatten(child.spec)[0]] for child in self.children[1:]]
        return all(child.is_uniform for child in self.children[1:]) and all(
            each == shapes[0] for each in shapes
        )

    @property
    def batch_size(self) -> int | None:
        """The nodes' batch size, if they agree."""
        sizes = {child.batch_size for child in self.children[1:]}
        return sizes.pop() if len(sizes) == 1 else None

    def stream(self, run: PlanRun, passes: int) -> Cursor:
        """Open a pass over all nodes together."""
        feeds = [feed_of(child, run, passes) for child in self.children]
        return ChooseCursor(feeds[0], feeds[1:], stops_on_empty=self._stops_on_empty)


class ChooseCursor(Cursor):
    """Reads a number, and then an element of that node.

    Args:
        choices: The numbers.
        feeds: The nodes' elements.
        stops_on_empty: Whether the end of one ends the whole.
    """

    def __init__(self, choices: Feed, feeds: Sequence[Feed], *, stops_on_empty: bool) -> None:
        self._choices = choices
        self._feeds = feeds
        self._stops_on_empty = stops_on_empty
        self._ended = [False] * len(feeds)

    def read(self, limit: int) -> Block:
        """Read elements that follow one another in one node."""
        while not self._is_over():
            numbers = self._coming(limit)
            first = int(numbers[0])
            self._check(first)
            # As many choices as name the same node.
            others = np.flatnonzero(numbers != first)
            count = int(others[0]) if len(others) else len(numbers)
            if self._ended[first]:
                self._choices.advance(count)
                continue
            try:
                block = self._feeds[first].read(count)
            except StopIteration:
                self._ended[first] = True
                continue
            except Exception:
                self._choices.advance(1)
                raise
            self._choices.advance(block.count)
            return block
        raise StopIteration

    def _coming(self, limit: int) -> np.ndarray:
        try:
            return self._choices.peek(limit).columns()[0]
        except StopIteration:
            raise
        except Exception:
            self._choices.advance(1)
            raise

    def _is_over(self) -> bool:
        return any(self._ended) if self._stops_on_empty else all(self._ended)

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._feeds):
            self._choices.advance(1)
            raise DataError(
                f"A number that chooses a Dataset is out of range. Expected: 0 <= number < {len(self._feeds)}. "
                f"Received: {number}. Let choice_dataset give numbers of the Datasets."
            )

    def get_state(self) -> State:
        """Return the positions of all nodes, and which have ended."""
        return {
            "choices": self._choices.get_state(),
            "feeds": [feed.get_state() for feed in self._feeds],
            "ended": list(self._ended),
        }

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._choices.set_state(state["choices"])
        for feed, position in zip(self._feeds, state["feeds"], strict=True):
            feed.set_state(position)
        self._ended = list(state["ended"])

    def close(self) -> None:
        for feed in (self._choices, *self._feeds):
            feed.close()
