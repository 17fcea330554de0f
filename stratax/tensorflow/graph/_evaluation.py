"""Calls of a graph made with values: those of a trial that finds shapes, or of a session's run (graph layer)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax.base.recording import NOT_RECORDED
from stratax.base.typing import PyTree
from stratax.summary.forms import SummaryRecord
from stratax.tensorflow.graph._nodes import GraphCall, GraphOperation, GraphTensor
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.graph._scopes import BuiltScope
from stratax.tensorflow.v1 import Operation
from stratax.tensorflow.v1.parts import MetricValue

_LEAVES = (GraphTensor, Operation, keras.Variable, MetricValue, SummaryRecord)


def is_leaf(value: object) -> bool:
    """Return whether something is no structure of others."""
    return isinstance(value, _LEAVES)


def find_symbols(values: object) -> list[Any]:
    """Return the tensors, operations and variables of graphs in a structure."""
    return [each for each in jax.tree.leaves(values, is_leaf=is_leaf) if getattr(each, "is_of_graph", False)]


def _is_like_array(value: object) -> bool:
    return hasattr(value, "__jax_array__") and not is_leaf(value)


class Evaluation(Recording):
    """Makes calls of a graph with values.

    Args:
        scope: The scope of the graph.
    """

    def __init__(self, scope: BuiltScope) -> None:
        self.scope = scope
        # Operations that have run, and all that were made, by call.
        self.done: set[int] = set()

    def value(self, tensor: GraphTensor) -> Any:
        """Return the value of a tensor."""
        raise NotImplementedError

    def operation(self, operation: GraphOperation) -> Any:
        """Return what an operation of the graph is in this evaluation."""
        return operation

    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call, with values in the place of tensors."""
        if not any(isinstance(each, GraphTensor | GraphOperation) for each in find_symbols((args, kwargs))):
            return NOT_RECORDED
        args, kwargs = self.resolve((args, kwargs))
        return function(*args, **kwargs)

    phase = None

    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a layer or an operation, with values in the place of tensors."""
        if not any(isinstance(each, GraphTensor) for each in find_symbols((args, kwargs))):
            return NOT_RECORDED
        args, kwargs = self.resolve((args, kwargs))
        return operation(*args, **kwargs)

    def compute(self, function: Callable[..., Any], operands: tuple[Any, ...], kind: str) -> Any:
        """Compute an operator."""
        return function(*self.resolve(operands, of_variables=True))

    def convert(self, tensor: PyTree) -> Any:
        """Return the value of a tensor."""
        return self.value(tensor)

    def resolve(self, values: PyTree, *, of_variables: bool = False) -> Any:
        """Return a structure with values in the place of tensors."""

        def find(leaf: PyTree) -> Any:
            if isinstance(leaf, GraphTensor):
                return self.value(leaf)
            if isinstance(leaf, GraphOperation):
                return self.operation(leaf)
            return leaf.value if of_variables and isinstance(leaf, keras.Variable) else leaf

        return jax.tree.map(find, values, is_leaf=is_leaf)

    def make(self, call: GraphCall) -> tuple[list[Any], Any]:
        """Make a call; return its results, with what it has added to collections and given names, and their structure.

        Args:
            call: The call.
        """
        with self.at(call):
            args, kwargs = self.resolve((call.args, call.kwargs))
            result = call.function(*args, **kwargs)  # type: ignore[misc]
            added = self.scope.collections.list_added()
            named = self.scope.names.tensors()
        values = (result, [value for _, value in added], list(named.values()))
        leaves, structure = jax.tree.flatten(values, is_leaf=is_leaf)
        # Ranges, and other things that are arrays where one is wanted.
        leaves = [jnp.asarray(each) if _is_like_array(each) else each for each in leaves]
        return leaves, (structure, [key for key, _ in added], list(named))

    @contextlib.contextmanager
    def at(self, call: GraphCall) -> Iterator[None]:
        """Have everything be in a block as it was where a call was made."""
        self.scope.go_to(call.position)
        yield
