"""Graphs of files in the graph of a session: each node becomes a tensor by its name (saved_models layer).

What stands inside of a loop, or on one way of a decision of TensorFlow 1, has no tensor of its own: it is part of the
node in which the loop ends or the ways meet.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import DType, TensorShape
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.graph import GraphTensor, enter_program_graph
from stratax.tensorflow.saved_models._loading import (
    functions_of,
    plain_text,
    restore_variables,
    trainable_names,
)
from stratax.tensorflow.saved_models.graph import (
    FileGraph,
    FileNode,
    Output,
    graph_of,
    needs_of,
    order_of,
    tensor_name,
)
from stratax.tensorflow.saved_models.messages import MESSAGES, Message, parse
from stratax.tensorflow.saved_models.operations import Value, table
from stratax.tensorflow.saved_models.program import check
from stratax.tensorflow.saved_models.run import GraphRun
from stratax.tensorflow.saved_models.state import State

GraphDef = MESSAGES["GraphDef"]
MetaGraphDef = MESSAGES["MetaGraphDef"]
NodeDef = MESSAGES["NodeDef"]
for _message in (GraphDef, MetaGraphDef, NodeDef):
    # Made while this is imported, they are of no module.
    _message.__module__ = "google.protobuf.message"
# What gives no array.
OF_RESOURCES = ("VarHandleOp", "Variable", "VariableV2", "HashTable", "HashTableV2", "MutableHashTableV2")
_LISTS_GIVING_ARRAYS = ("Read", "Gather", "Size", "Concat", "Stack", "GetItem", "Length")
# What does nothing but change variables and tables, or write: the loader has done it.
OF_FILES = ("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "Save", "ShardedFilespec")


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: object = None,
    producer_op_list: object = None,
) -> list[Any] | None:
    """Add the nodes of a graph that TensorFlow wrote to the default graph, as `tf.import_graph_def`.

    Args:
        graph_def: A `tf.compat.v1.GraphDef`, of a frozen graph: its variables have no values.
        input_map: Tensors in the place of some of its own, by their names there.
        return_elements: Names of tensors or operations that are returned.
        name: What names begin with; ``"import"`` by default, nothing if it is ``""``.
        op_dict: Ignored.
        producer_op_list: Ignored.

    Returns:
        The tensors and operations of `return_elements`; None without it.

    Raises:
        BadArgumentError: `return_elements` or `input_map` names what is not there.
        BadTypeError: `graph_def` is no such message.
        DataLossError: The graph is damaged.
        UnimplementedError: An operation is not known; it says where it stands.
    """
    del op_dict, producer_op_list
    message = _as_graph_def(graph_def)
    state = State(functions_of(message.library))
    prefix = "import" if name is None else name
    return GraphImport(graph_of(message), state, prefix, dict(input_map or {})).add(return_elements)


def _as_graph_def(value: Any) -> Message:
    if isinstance(value, GraphDef):
        return value
    if not hasattr(value, "SerializeToString"):
        raise BadTypeError(
            f"graph_def is a tf.compat.v1.GraphDef. Received: graph_def={shown(value)}. Read a file into one with "
            "graph_def.ParseFromString(content)."
        )
    return parse("GraphDef", value.SerializeToString(), "graph_def")


def add_meta_graph(meta: Message, folder: str, assets: Mapping[Output, Any], name: str = "") -> list[Any]:
    """Add the graph of a SavedModel to the default graph; return its variables, whose first values are those saved.

    Args:
        meta: The graph with what belongs to it.
        folder: The SavedModel's folder.
        assets: Paths of assets in the place of tensors.
        name: What names begin with.
    """
    state = State(functions_of(meta.graph_def.library), folder)
    graph = graph_of(meta.graph_def)
    state.trainable |= trainable_names(meta)
    restore_variables(state, graph, meta, assets)
    GraphImport(graph, state, name, {}, assets, is_strict=False).add(None, initialize=_initializers(meta))
    return [each.variable for each in state.variables.values() if each.variable is not None]


def _initializers(meta: Message) -> list[str]:
    found = [
        value
        for key in ("saved_model_main_op", "legacy_init_op")
        if key in meta.collection_def
        for value in meta.collection_def[key].node_list.value
    ]
    if "__saved_model_init_op" in meta.signature_def:
        found += [each.name for each in meta.signature_def["__saved_model_init_op"].outputs.values()]
    return [tensor_name(each)[0] for each in found]


class GraphImport:
    """Adds the nodes of a file's graph to the default graph."""

    def __init__(
        self,
        graph: FileGraph,
        state: State,
        prefix: str,
        given: Mapping[str, Any],
        known: Mapping[Output, Any] | None = None,
        *,
        is_strict: bool = True,
    ) -> None:
        self._is_strict = is_strict
        self.graph = graph
        self.state = state
        self.prefix = f"{prefix}/" if prefix else ""
        self.target = enter_program_graph()
        self.known = dict(known or {})
        self.made: dict[Output, Any] = {}
        for key, tensor in given.items():
            place = tensor_name(key)
            if place[0] not in graph.nodes:
                raise BadArgumentError(f"input_map names what is not in the graph: {shown(key)}.")
            self.made[place] = tensor

    def add(self, wanted: Sequence[str] | None, initialize: Sequence[str] = ()) -> list[Any] | None:
        """Add all nodes; return what is asked for."""
        graph = self.graph
        in_frames = find_in_frames(graph)
        hidden = _find_hidden(graph, is_strict=self._is_strict) | in_frames
        order = order_of(graph, [each for each in graph.nodes if each not in hidden], ())
        check(graph, order, self.state, "graph")
        if initialize:
            run = GraphRun(self.state, is_host=True)
            given = {each for each, _ in self.known}
            run.follow(graph, order_of(graph, initialize, given), dict(self.known), ())
        inner = find_inner(graph, order) | in_frames
        for node in order:
            if node.name not in inner:
                self.add_node(node, inner)
        if wanted is None:
            return None
        return [self._find(each) for each in wanted]

    def _find(self, name: str) -> Any:
        place = tensor_name(name)
        if place not in self.made:
            raise BadArgumentError(f"return_elements names what is not in the graph: {shown(name)}.")
        found = self.made[place]
        return found if ":" in name or not isinstance(found, GraphTensor) else found.op

    def add_node(self, node: FileNode, inner: set[str]) -> None:
        if (node.name, 0) in self.made or (node.name, 0) in self.known:
            return
        building = self.target.scope.building
        name = self.prefix + node.name
        if node.op == "Placeholder":
            shape, dtype = node.get("shape"), node["dtype"]
            (self.made[node.name, 0],) = building.add_source(
                [(TensorShape(shape), DType(dtype))], name, "Placeholder"
            )
            return
        boundary = self.boundary(node, inner)
        operands = [self.made.get(each, self.known.get(each)) for each in boundary]
        graph, state = self.graph, self.state

        def call(operands: Sequence[Value], name: str | None = None) -> Value:
            del name
            known = {**self.known, **dict(zip(boundary, operands, strict=True))}
            run = GraphRun(state, is_host=False)
            made = run.evaluate_all(graph, known, node.name)
            return made[0] if len(made) == 1 else tuple(made)

        if node.op in _PARSING:
            # What is parsed has to be there.
            made: Any = tuple(building.add_typed(call, (operands,), _types_of_parsing(node), name, node.op))
        else:
            made = building.add(call, (operands,), {"name": name}, kind=node.op)
        for number, each in enumerate(made if isinstance(made, tuple) else [made]):
            self.made[node.name, number] = each

    def boundary(self, node: FileNode, inner: set[str]) -> list[Output]:
        """Return the outputs outside that a node is computed of, with what is inside on the way."""
        found: dict[Output, None] = {}
        seen: set[str] = set()
        waiting = [node.name]
        while waiting:
            each = self.graph.node(waiting.pop())
            frame = self.graph.frames.get(each.name)
            reads = list(each.inputs)
            if frame is not None:
                inside = [frame.condition, *frame.next]
                reads = [*frame.first, *inside, *(self.graph.node(one).inputs[0] for one in frame.constants)]
            for output in reads:
                if output[0] not in inner or output in self.made:
                    if output not in self.known and output in self.made:
                        found[output] = None
                elif output[0] not in seen:
                    seen.add(output[0])
                    waiting.append(output[0])
        return list(found)


_PARSING = ("ParseExample", "ParseExampleV2")


def _types_of_parsing(node: FileNode) -> list[tuple[Any, Any]]:
    """Return the shapes and dtypes of what a node parses."""
    places, text = DType("int64"), node.get("sparse_types", [])
    dense = zip(node.get("dense_shapes", []), node.get("Tdense", []), strict=True)
    rows, splits = node.get("ragged_value_types", []), node.get("ragged_split_types", [])
    return [
        *((TensorShape([None, None]), places) for _ in text),
        *((TensorShape([None]), DType(each)) for each in text),
        *((TensorShape([None]), places) for _ in text),
        *((TensorShape([None, *(shape or ())]), DType(each)) for shape, each in dense),
        *((TensorShape([None]), DType(each)) for each in (*rows, *splits)),
    ]


# Operations for which a session has other ways.
_CHANGING = (
    "Assign",
    "AssignVariableOp",
    "InitializeTableV2",
    "LookupTableImportV2",
    "InitializeTableFromTextFileV2",
)


def _find_hidden(graph: FileGraph, *, is_strict: bool) -> set[str]:
    """Return the nodes that have no part in what a session computes.

    Those are nodes that initialize, save and restore, and, of a graph that comes with its training, what can't be
    computed here; with all that is made of them.
    """
    known = table().keys() | {"Placeholder"}
    hidden = {
        node.name
        for node in graph.nodes.values()
        if node.op in (*OF_FILES, *_CHANGING) or not (is_strict or node.op in known)
    }
    return with_consumers(graph, hidden, ("Identity", "NoOp"))


def with_consumers(graph: FileGraph, names: set[str], by_control: Sequence[str] | None) -> set[str]:
    """Return nodes with those that take what they give, also by control inputs if their operation says so."""
    consumers: dict[str, list[FileNode]] = {}
    for node in graph.nodes.values():
        by_name = [name for name, _ in node.inputs]
        for name in {*by_name, *(node.controls if by_control is None or node.op in by_control else ())}:
            consumers.setdefault(name, []).append(node)
    found, waiting = set(names), list(names)
    while waiting:
        for node in consumers.get(waiting.pop(), ()):
            if node.name not in found and node.op not in ("Exit", "RefExit"):
                found.add(node.name)
                waiting.append(node.name)
    return found


def find_in_frames(graph: FileGraph) -> set[str]:
    """Return the nodes inside of loops of TensorFlow 1."""
    if not graph.frames:
        return set()
    enters = {node.name for node in graph.nodes.values() if node.op in ("Enter", "RefEnter")}
    found = with_consumers(graph, enters, None)
    while True:
        # The end of a loop within another one lies inside of that.
        nested = {name for name in graph.frames if not found.isdisjoint(needs_of(graph, graph.node(name)))}
        if nested <= found:
            return found
        found = with_consumers(graph, found | nested, None)


def find_inner(graph: FileGraph, order: Sequence[FileNode]) -> set[str]:
    """Return the nodes that have no tensors of their own."""
    inner: set[str] = set()
    for node in graph.nodes.values():
        short = node.op.removesuffix("V3").removesuffix("V2")
        is_list = short.startswith(("TensorArray", "TensorList", "EmptyTensorList"))
        is_switch = node.op in ("Switch", "RefSwitch")
        if is_switch or node.op in OF_RESOURCES or (is_list and not short.endswith(_LISTS_GIVING_ARRAYS)):
            inner.add(node.name)
    ways: dict[str, frozenset[tuple[Output, int]]] = {}
    for node in order:
        ways[node.name] = _ways_of(graph, node, ways)
        if ways[node.name]:
            inner.add(node.name)
    return inner


def _ways_of(
    graph: FileGraph, node: FileNode, ways: Mapping[str, frozenset[tuple[Output, int]]]
) -> frozenset[tuple[Output, int]]:
    if node.name in graph.frames:
        return frozenset()
    sides: list[set[tuple[Output, int]]] = []
    for name, number in node.inputs:
        side = set(ways.get(name, frozenset()))
        source = graph.node(name)
        if source.op in ("Switch", "RefSwitch"):
            side.add((source.inputs[1], number))
        sides.append(side)
    found = {each for side in sides for each in side}
    found |= {each for name in node.controls for each in ways.get(name, ())}
    if node.op in ("Merge", "RefMerge") and len(sides) == 2:
        met = {each for each, way in sides[0] if (each, 1 - way) in sides[1]}
        found = {each for each in found if each[0] not in met}
    return frozenset(found)


def asset_paths(meta: Message, folder: str) -> dict[Output, np.ndarray]:
    """Return the paths of assets by the tensors that stand for them."""
    state = State({}, folder)
    return {
        tensor_name(each.tensor_info.name): plain_text(
            state.asset(os.path.join(folder, "assets", each.filename))
        )
        for each in meta.asset_file_def
    }
