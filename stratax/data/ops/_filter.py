"""`filter`: the node and its cursor (data layer)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stratax.data.elements import UNKNOWN_CARDINALITY, Block, Columns, Row, Rows, element_scope
from stratax.data.plan import Drawing, Node, Run, feed_of
from stratax.data.position import Cursor, CursorOver, Feed, State
from stratax.data.vectorise import call, on_host, user_code
from stratax.errors import DataError


class Filter(Drawing):
    """The elements for which a predicate holds."""

    label = "Filter"

    def __init__(self, child: Node, predicate: Callable[..., Any]) -> None:
        super().__init__(child)
        self._predicate = predicate

    @property
    def spec(self) -> Any:
        """Describe elements as the child does."""
        return self.child.spec

    @property
    def length(self) -> int:
        """Not known, except of nothing."""
        return 0 if self.child.length == 0 else UNKNOWN_CARDINALITY

    @property
    def is_indexable(self) -> bool:
        """Answer that elements come one after another only."""
        return False

    @property
    def reads_ahead(self) -> int:
        """Nothing: the predicate may be watched."""
        return 1

    def stream(self, run: Run, passes: int) -> Cursor:
        """Open a pass over the elements that the predicate lets through."""
        return FilterCursor(feed_of(self.child, run, passes), partial(self._passes, run, passes))

    def _passes(self, run: Run, passes: int, row: Row, number: int) -> bool:
        copies = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in row]
        try:
            with element_scope(lambda: self.name_of(run, passes, number)), user_code(_name(self._predicate)):
                verdict = np.asarray(call(self._predicate, self.child.structure, copies))
        except Exception as e:
            e.add_note(f"The predicate {_name(self._predicate)} given to filter failed on element {number}.")
            run.origins.tell(e, row)
            raise
        if verdict.shape or verdict.dtype != np.bool_:
            raise DataError(
                "The predicate given to filter has to return one bool. Received: "
                f"{_name(self._predicate)} gave dtype={verdict.dtype}, shape={verdict.shape} on element {number}. "
                "Return a comparison, such as x > 0."
            )
        return bool(verdict)


class FilterCursor(CursorOver):
    """Asks about element after element.

    Args:
        feed: The stream.
        passes: The verdict on a row with its number.
    """

    def __init__(self, feed: Feed, passes: Callable[[Row, int], bool]) -> None:
        super().__init__(feed)
        self._feed = feed
        self._passes = passes
        self._number = 0
        self._failure: Exception | None = None

    def read(self, limit: int) -> Block:
        """Those that pass among the next elements of one shape."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._advance(1)
            raise failure
        while True:
            block = self._peeked(limit)
            kept, asked = self._asked(block)
            if kept:
                self._advance(asked)
                return _selected(block, kept)
            if self._failure is not None:
                self._advance(asked)
                return self.read(limit)
            self._advance(asked)

    def _peeked(self, limit: int) -> Block:
        try:
            return self._feed.peek(limit)
        except StopIteration:
            raise
        except Exception:
            self._advance(1)
            raise

    def _asked(self, block: Block) -> tuple[list[int], int]:
        """Which elements pass, and how many were asked about: those before one that fails."""
        kept = []
        with on_host():
            for i in range(block.count):
                try:
                    if self._passes(block.row(i), self._number + i):
                        kept.append(i)
                except Exception as e:
                    self._failure = e
                    return kept, i
        return kept, block.count

    def _advance(self, count: int) -> None:
        if count:
            self._feed.advance(count)
        self._number += count

    def get_state(self) -> State:
        """The place behind the last element that was given, or asked about in vain."""
        return {"number": self._number, "feed": self._feed.get_state()}

    def set_state(self, state: State) -> None:
        """Go to a position that `get_state` returned."""
        self._number = state["number"]
        self._feed.set_state(state["feed"])


def _selected(block: Block, kept: list[int]) -> Block:
    if len(kept) == block.count:
        return block
    if isinstance(block, Columns):
        return Columns([leaf[kept] for leaf in block.leaves], len(kept))
    return Rows([block.row(i) for i in kept])


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", repr(function)))
