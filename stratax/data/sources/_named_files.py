"""What sources that read named files have in common (data layer)."""

import abc

from stratax.data.plan import Node, PlanRun
from stratax.data.position import Cursor, State
from stratax.errors import DataError
from stratax.io import as_file_name


class NamedFiles(Node):
    """A source whose elements come from files that another node names, so that it can read some of them only."""

    @property
    def names(self) -> Node:
        """The node that gives the names."""
        return self.children[0]

    @abc.abstractmethod
    def with_names(self, names: Node) -> Node:
        """Return the same source over other files."""


class NamePlace:
    """A position among the names of files. Where the names come from a source without positions, asking for it raises.

    Args:
        names: Gives the names, from that position on.
    """

    def __init__(self, names: Cursor) -> None:
        self._error: DataError | None = None
        try:
            self._state = names.get_state()
        except DataError as e:
            self._error = e

    @property
    def state(self) -> State:
        """The position.

        Raises:
            DataError: The names have none.
        """
        if self._error is not None:
            raise self._error
        return self._state


class CurrentFile:
    """The names that a source goes through, one after another; its position is that of the name that was taken last.

    Args:
        source: The source.
        run: What the iterator shares.
        passes: The pass.
    """

    def __init__(self, source: NamedFiles, run: PlanRun, passes: int) -> None:
        self._names = source.names.open(run, passes)
        self._before = NamePlace(self._names)

    def take(self) -> str:
        """Take the next name; raise StopIteration at the end."""
        try:
            return take_name(self._names)
        except StopIteration:
            raise
        except Exception:
            self.leave()
            raise

    def leave(self) -> None:
        """Move the position behind the name."""
        self._before = NamePlace(self._names)

    def get_state(self) -> State:
        """Return the position behind the last element."""
        return self._before.state

    def set_state(self, state: State) -> None:
        """Go there: what was the last name is the next one to take."""
        self._names.set_state(state)
        self.leave()

    def close(self) -> None:
        """Close the cursor over the names."""
        self._names.close()


def take_name(names: Cursor) -> str:
    """Take the next name that a cursor over names gives."""
    return as_file_name(names.read(1).row(0)[0])
