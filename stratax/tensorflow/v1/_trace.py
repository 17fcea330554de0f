"""What operations and variable scopes ask of the trace that they belong to (v1 layer)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stratax import errors
from stratax.base.surroundings import Slot, Surroundings

if TYPE_CHECKING:
    from stratax.tensorflow.v1._graph_collections import GraphCollections
    from stratax.tensorflow.v1._trace_values import TraceValues


class Features(Protocol):
    """The features of a trace, which functions of strings are applied to."""

    def apply(
        self, function: Callable[..., Any], operands: Sequence[Any], name: str, gives: object = None
    ) -> Any:
        """Return what a function of strings makes of operands of which some have no values yet."""


class Trace(Protocol):
    """One trace of a `model_fn`, without what is made of operations and variable scopes.

    Attributes:
        values: What is known of tensors.
        collections: The graph's collections.
    """

    values: "TraceValues"
    collections: "GraphCollections"

    @property
    def features(self) -> Features:
        """What the trace takes from the host."""

    def always(self, operation: Any) -> None:
        """Run an operation at the end of the step, whatever is run."""


AnyTrace = TypeVar("AnyTrace", bound=Trace)

_TRACE: Slot[Trace | None] = Slot("trace of a model_fn", None)


def entering_trace(trace: Trace | None) -> Surroundings:
    """Make a trace the one that is entered, for a block."""
    return _TRACE.holding(trace)


def current_trace_or_none() -> Trace | None:
    """Return the trace of the `model_fn` that is being traced on this thread, or None."""
    return _TRACE.get()


def current_trace() -> Trace:
    """Return the trace of the `model_fn` that is being traced on this thread.

    Raises:
        ModelScopeError: If none is.
    """
    return check_entered(_TRACE.get())


def check_entered(trace: AnyTrace | None) -> AnyTrace:
    """Return a trace, of which there has to be one.

    Raises:
        ModelScopeError: If it is None.
    """
    if trace is None:
        raise errors.ModelScopeError(
            "This function of TensorFlow 1 adds to a graph. Expected: a call inside of a `model_fn`, which an "
            "Estimator traces. Received: a call outside of one. Call it there, or use TensorFlow 2's function."
        )
    return trace
