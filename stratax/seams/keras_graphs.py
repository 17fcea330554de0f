"""What Stratax takes from Keras' graphs of layers, which are not documented: which layer takes whose result."""

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
from keras.src.backend import get_keras_mask, set_keras_mask
from keras.src.models.functional import Functional
from keras.src.ops.node import Node

__all__ = ["find_graphs", "find_runs", "get_keras_mask", "run_together", "set_keras_mask"]


def find_graphs(model: keras.Model) -> Iterator[Any]:
    """Yield the graphs of layers in a model: its own, and those of models in it."""
    if isinstance(model, keras.Sequential):
        # Until it is built there is none.
        graph = model._functional
    else:
        graph = model if isinstance(model, Functional) else None
    if graph is not None:
        yield graph
    for layer in getattr(model, "layers", ()):
        if isinstance(layer, keras.Model):
            yield from find_graphs(layer)


def find_runs(graph: Functional, signature_of: Callable[[Any], Any]) -> list[list[Any]]:
    """Return layers that follow one another in a graph: each takes the result of the one before, and nobody else does.

    Args:
        graph: The graph.
        signature_of: Returns what layers of a run have in common; None for one that belongs to no run.
    """
    nodes = [node for nodes in graph._nodes_by_depth.values() for node in nodes]
    nodes = [node for node in nodes if node.operation and not node.is_input]
    uses = Counter(id(tensor) for node in nodes for tensor in node.input_tensors)
    uses.update(id(tensor) for tensor in graph.outputs)
    calls = Counter(id(node.operation) for node in nodes)
    kinds = {id(node): signature_of(node.operation) for node in nodes if calls[id(node.operation)] == 1}
    after: dict[int, Any] = {}
    for node in nodes:
        for tensor in node.input_tensors[:1]:
            after[id(tensor)] = node

    def follower(node: Node) -> Any:
        """Return the node that goes on with a node's result, if both are alike."""
        found = after.get(id(node.outputs[0])) if len(node.outputs) == 1 else None
        if found is None or uses[id(node.outputs[0])] != 1 or kinds.get(id(node)) is None:
            return None
        is_alike = kinds.get(id(found)) == kinds[id(node)] and _rest_of(found) == _rest_of(node)
        return found if is_alike and _takes_first(found, node.outputs[0]) else None

    followers = {id(node): follower(node) for node in nodes}
    followed = {id(each) for each in followers.values() if each is not None}
    runs = []
    for node in nodes:
        run, each = [], node if id(node) not in followed else None
        while each is not None:
            run.append(each.operation)
            each = followers[id(each)]
        if len(run) > 1:
            runs.append(run)
    return runs


def _takes_first(node: Node, tensor: object) -> bool:
    return bool(node.arguments.args) and node.arguments.args[0] is tensor


def _rest_of(node: Node) -> Any:
    """Return all arguments of a node but the first one, such that equal ones can be compared."""
    leaves = keras.tree.flatten([list(node.arguments.args[1:]), node.arguments.kwargs])
    return [id(leaf) if isinstance(leaf, keras.KerasTensor) else repr(leaf) for leaf in leaves]


def run_together(
    graph: Functional, runs: Sequence[Sequence[Any]], compute: Callable[[Sequence[Any], Sequence[Any]], Any]
) -> None:
    """Have layers of a graph be computed together: where the last one's turn is; the others hand on what they get.

    Args:
        graph: The graph.
        runs: The layers, those in each list in their order.
        compute: Returns what computes a run, of its layers and what calls each of them.
    """
    lasts = {id(run[-1]): run for run in runs}
    others = {id(layer) for run in runs for layer in run[:-1]}
    run_through = functools.partial(type(graph)._run_through_graph, graph)

    def run_with(
        inputs: Sequence[Any],
        operation_fn: Callable[[Any], Any] = lambda layer: layer,
        call_fn: Callable[..., Any] | None = None,
    ) -> Any:
        # Which is given where shapes are asked for, or the graph is copied.
        if call_fn is not None:
            return run_through(inputs, operation_fn=operation_fn, call_fn=call_fn)

        def call_of(layer: keras.Operation) -> Any:
            if id(layer) in others:
                return lambda given, *_, **__: given
            run = lasts.get(id(layer))
            return operation_fn(layer) if run is None else compute(run, [operation_fn(each) for each in run])

        return run_through(inputs, operation_fn=call_of)

    # Around Keras' own bookkeeping of attributes.
    graph.__dict__["_run_through_graph"] = run_with
