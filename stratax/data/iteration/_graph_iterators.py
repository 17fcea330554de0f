"""Who makes iterators of the graphs that sessions compute, where one is built (data layer)."""

from typing import Any, Protocol

from stratax.base.surroundings import Slot
from stratax.errors import BadArgumentError


class GraphIterators(Protocol):
    """Makes iterators of a graph."""

    def one_shot(self, dataset: Any) -> Any:
        """Return an iterator that begins by itself."""

    def initializable(self, dataset: Any) -> Any:
        """Return an iterator that begins when a session runs its initializer."""

    def from_structure(self, output_types: Any, output_shapes: Any = None) -> Any:
        """Return an iterator that begins with any dataset of such elements."""

    def from_string_handle(self, string_handle: Any, output_types: Any, output_shapes: Any = None) -> Any:
        """Return what gives the elements of the iterator that is fed."""


GRAPH_ITERATORS: Slot[GraphIterators | None] = Slot("iterators of graphs", None)


def graph_iterators(name: str) -> GraphIterators:
    """Return what makes iterators of the graph that is built.

    Args:
        name: The function that asks for them, for the error.

    Raises:
        BadArgumentError: If none is built.
    """
    found = GRAPH_ITERATORS.get()
    if found is None:
        raise BadArgumentError(
            f"{name} is for a graph, which a session runs. Expected: a tf.Graph that is entered. Elsewhere use "
            "`iter(dataset)`: iterators hold their own state and need no session to begin."
        )
    return found
