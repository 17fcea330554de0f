"""What the scope of a graph is for those who make its calls; the class stands above them (graph layer)."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from stratax.tensorflow.graph._nodes import GraphOperation, Position
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.v1 import ModelState, Operation
from stratax.tensorflow.v1.parts import TensorNames


class BuiltScope(Protocol):
    """The scope of a graph: :class:`stratax.tensorflow.graph._scope.GraphScope` says what it does."""

    graph: Any
    state: ModelState
    names: TensorNames
    collections: Any
    derivatives: Any

    def position(self) -> Position:
        """Return what is around a call that is made now."""

    def go_to(self, position: Position) -> None:
        """Have around what was around a call."""

    def go_on_from(self, position: Position) -> None:
        """Build the graph further from what is around behind a call."""

    def keep_variables(self, position: Position) -> None:
        """Have variables be there that a call has made."""

    def evaluating(
        self, evaluation: Recording, watched: Sequence[Any] = (), *, differentiates: bool = False
    ) -> AbstractContextManager[None]:
        """Have calls be made with values in a block."""

    def operations(self) -> list[Operation]:
        """Return the operations that were made while calls are made with values."""

    def operations_behind_end(self) -> list[Operation]:
        """Return the operations that run at the end of a call, whatever is run."""

    def make_operation(self, operation: Operation, done: set[int]) -> None:
        """Run an operation and all that it depends on, each once."""

    def controlling(self) -> tuple[GraphOperation, ...]:
        """Return the operations of the control dependencies that are entered."""

    def add_initializers(self) -> None:
        """Add the operations that give new variables their first values."""
