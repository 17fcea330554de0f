"""Pipelines and collections of other libraries as sources of a plan (data layer).

What a library's objects are is known by an adapter of its own (`_foreign_*.py`); here is what they have in common: the
interfaces that adapters implement, the nodes over them, and the conversion of elements.
"""

import abc
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stratax.base.typing import PyTree
from stratax.data.elements import UNKNOWN_CARDINALITY
from stratax.data.plan import Node
from stratax.data.vectorise import user_code
from stratax.errors import DataError


class Adapter(abc.ABC):
    """Knows the objects of one library.

    Attributes:
        package: The module that is loaded wherever such an object exists; nothing is imported to find out.
    """

    package: str

    @abc.abstractmethod
    def adapt(self, value: object) -> Node | None:
        """Return the node that reads `value`; None if it is none of the library's."""


class Items(abc.ABC):
    """A collection whose elements are reached by their number.

    Attributes:
        name: What it is, for messages.
        length: How many elements it has, or INFINITE_CARDINALITY.
    """

    name: str
    length: int

    @abc.abstractmethod
    def get(self, indices: Sequence[int]) -> list[Any]:
        """Return the elements of some numbers, as the library gives them."""

    def columns(self, indices: Sequence[int]) -> dict[str, Any] | None:
        """Return the elements as a dict of arrays [n, ...] (lists where sizes differ); None if they have no columns."""
        return None


class PipelineReader(abc.ABC):
    """One pass over a pipeline of another library."""

    @abc.abstractmethod
    def next(self) -> Any:
        """Return the next element, as the library gives it; raise StopIteration at the end."""

    @abc.abstractmethod
    def get_state(self) -> Any:
        """Return the position behind the last element as JSON can hold it; raise DataError if it is not known."""

    @abc.abstractmethod
    def set_state(self, state: PyTree) -> None:
        """Go there; called before the first element is read."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the pass and release what it holds."""


class PipelineStream(abc.ABC):
    """A pipeline that can be iterated again and again.

    Attributes:
        name: What it is, for messages.
        length: How many elements it has, or INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.
        batch_size: The size of its batches, None if they are none or it is not known.
        spec: Structure of the specs of the elements; None if only reading one tells.
    """

    name: str
    length: int = UNKNOWN_CARDINALITY
    batch_size: int | None = None
    spec: Any = None

    @abc.abstractmethod
    def open(self) -> PipelineReader:
        """Begin a pass at the first element."""


class IteratorReader(PipelineReader):
    """A pass over a Python iterator, whose position is unknown.

    Args:
        name: What is iterated, for messages.
        iterator: The iterator.
    """

    def __init__(self, name: str, iterator: Iterator[Any]) -> None:
        self._name = name
        self._iterator = iterator

    def next(self) -> Any:
        return next(self._iterator)

    def get_state(self) -> Any:
        """Refuse to tell a position: the source can't go back to one."""
        raise DataError(
            f"The position of this iterator can't be saved: it reads {self._name}, which can't tell where it is. "
            f"Received: {self._name}. Use a source that can: files, arrays, or a pipeline with a state of its own."
        )

    def set_state(self, state: PyTree) -> None:
        """Refuse to go to a position: the source can't."""
        # Raises the same error: what has no position cannot go to one.
        self.get_state()

    def close(self) -> None:
        """Close the iterator, if it is a generator."""
        close = getattr(self._iterator, "close", None)
        if callable(close):
            close()


class StatefulReader(IteratorReader):
    """A pass over something with `state_dict()` and `load_state_dict()`.

    Args:
        name: What is iterated, for messages.
        source: The object that has the state, nobody else's.
    """

    def __init__(self, name: str, source: Any) -> None:
        super().__init__(name, iter(()))
        self._source = source
        self._begun = False
        self._restored: Any = None

    def next(self) -> Any:
        """Begin the iteration when it is first asked, so that a state can be set before."""
        if not self._begun:
            self._begun = True
            with user_code(self._name):
                self._iterator = iter(self._source)
        return super().next()

    def get_state(self) -> Any:
        """Return what `state_dict()` gives, if JSON can hold it; None at the beginning."""
        if not self._begun:
            # Nothing was read yet: the position is the one that was set, or the beginning.
            return self._restored
        return json_state(self._name, self._source.state_dict())

    def set_state(self, state: Any) -> None:
        """Restore a position with `load_state_dict(state)`."""
        self._restored = state
        if state is not None:
            self._source.load_state_dict(state)


def json_state(name: str, state: PyTree) -> Any:
    """Return a library's state as JSON holds it.

    Raises:
        DataError: JSON can't.
    """
    try:
        # Through text and back: what comes out is exactly what a checkpoint will hold.
        return json.loads(json.dumps(state, default=_number))
    except (TypeError, ValueError) as e:
        raise DataError(
            f"The position of this iterator can't be saved: the state of {name} has parts that are neither numbers nor "
            f"strings ({e}). Received: {name}."
        ) from e


def _number(value: object) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
