"""`tf.train.import_meta_graph`: graphs that TensorFlow's `Saver` wrote beside checkpoints (saved_models layer).

Other than the graph of a SavedModel, one of a `.meta` file comes with its training: its variables have no values before
they are restored or initialized, and operations that change them are operations of the session's graph.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.errors import BadTypeError, DataLossError, FileMissingError, StrataxError
from stratax.io import gfile
from stratax.tensorflow.graph import GraphOperation, GraphTensor, GraphVariable
from stratax.tensorflow.saved_models._import_graph import (
    OF_FILES,
    GraphImport,
    MetaGraphDef,
    find_in_frames,
    find_inner,
    with_consumers,
)
from stratax.tensorflow.saved_models._loading import functions_of, trainable_names
from stratax.tensorflow.saved_models.graph import FileGraph, FileNode, Output, graph_of, order_of, tensor_name
from stratax.tensorflow.saved_models.messages import Message, parse
from stratax.tensorflow.saved_models.operations import Value, table
from stratax.tensorflow.saved_models.program import check
from stratax.tensorflow.saved_models.run import GraphRun
from stratax.tensorflow.saved_models.state import State
from stratax.tensorflow.v1 import current
from stratax.tensorflow.v1.train import Saver

_logger = logging.getLogger("stratax")

_OF_VARIABLES = ("VarHandleOp", "Variable", "VariableV2")
_FIRST_VALUES = ("Assign", "AssignVariableOp")
_CHANGING = (
    "Assign",
    "AssignAdd",
    "AssignSub",
    "AssignVariableOp",
    "AssignAddVariableOp",
    "AssignSubVariableOp",
    "Apply",
    "ResourceApply",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "ResourceScatter",
)
_ASKING = ("IsVariableInitialized", "VarIsInitializedOp")
_SWITCHES = ("Switch", "RefSwitch")
# Tables are filled when the graph is imported.
_FILLING = (
    "InitializeTable",
    "InitializeTableV2",
    "InitializeTableFromTextFile",
    "InitializeTableFromTextFileV2",
    "LookupTableImport",
    "LookupTableImportV2",
)
# What a session needs not, since tables are filled when the graph is imported and queues by those who take of them.
_NOT_KEPT = ("cond_context", "while_context", "savers", "queue_runners", "saved_model_assets")
_LOCAL = "local_variables"


def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Add a graph that a `Saver` wrote to the default graph, as `tf.compat.v1.train.import_meta_graph`.

    Tensors, operations and variables have the names that they had; collections have what was in them. Values come with
    the checkpoint: `import_meta_graph("model.ckpt-9.meta").restore(session, "model.ckpt-9")`. Operations that are not
    known here are left out with all that needs them, which a warning says.

    Args:
        meta_graph_or_file: A `tf.compat.v1.MetaGraphDef`, or the name of a file with one.
        clear_devices: Ignored: a strategy places what is computed.
        import_scope: What names begin with.
        **kwargs: Arguments of the `Saver`.

    Returns:
        A `Saver` of the variables that the graph's own had; None where it has no variables.

    Raises:
        BadTypeError: It is neither a message nor a file's name.
        DataLossError: It is damaged.
        FileMissingError: There is no such file.

    Example:
        >>> import stratax.tf.compat.v1 as tf
        >>> with tf.Graph().as_default():
        ...     tf.train.import_meta_graph(tf.MetaGraphDef()) is None
        True
    """
    del clear_devices
    meta = _as_meta_graph(meta_graph_or_file)
    try:
        made = TrainedImport(meta, import_scope or "")
        made.add_all()
        made.add_collections()
        return made.make_saver(**kwargs)
    except StrataxError:
        raise
    except (LookupError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise DataLossError(
            f"The graph is damaged ({type(error).__name__}: {str(error)[:300]}). Received: "
            f"{shown(meta_graph_or_file)}."
        ) from error


def _as_meta_graph(given: Any) -> Message:
    if isinstance(given, MetaGraphDef):
        return given
    if hasattr(given, "SerializeToString"):
        return parse("MetaGraphDef", given.SerializeToString(), "meta_graph_or_file")
    if not isinstance(given, str | bytes | os.PathLike):
        raise BadTypeError(
            "meta_graph_or_file is the name of a file, such as 'model.ckpt-9.meta', or a tf.compat.v1.MetaGraphDef. "
            f"Received: meta_graph_or_file={shown(given)}."
        )
    path = os.fsdecode(given)
    if not gfile.exists(path) or gfile.isdir(path):
        raise FileMissingError(
            f"File {path} does not exist. Give the file '.meta' that TensorFlow wrote beside a checkpoint; savers of "
            "Stratax write none: build the graph in Python, and restore its values with tf.train.Saver().restore."
        )
    with gfile.GFile(path, "rb") as file:
        content = file.read()
    try:
        return MetaGraphDef.FromString(content)
    except (DecodeError, RecursionError):
        try:
            return text_format.Parse(content, MetaGraphDef(), allow_unknown_field=True)
        except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
            raise DataLossError(
                f"The file {shown(path)} is no MetaGraphDef, or it is damaged: {str(error)[:200]}. Copy it anew."
            ) from error


class TrainedImport(GraphImport):
    """Adds a graph with its training to the default graph.

    Args:
        meta: The graph with what belongs to it.
        prefix: What names begin with.
    """

    def __init__(self, meta: Message, prefix: str) -> None:
        whole = graph_of(meta.graph_def)
        state = State(functions_of(meta.graph_def.library))
        state.trainable |= trainable_names(meta)
        self._meta = meta
        self._whole = whole
        restoring = with_consumers(
            whole, {each.name for each in whole.nodes.values() if each.op in OF_FILES}, ("Identity", "NoOp")
        )
        known = table().keys() | {"Placeholder"}
        unknown = {each.name for each in whole.nodes.values() if each.op not in known}
        left_out = with_consumers(whole, unknown, ("Identity", "NoOp")) | self._find_unlinked(whole)
        self._tell(left_out - restoring, unknown)
        hidden = restoring | left_out
        changing = {each.name for each in whole.nodes.values() if each.op.startswith(_CHANGING)}
        behind = with_consumers(whole, changing, None)
        # In calls nothing waits for other nodes, but for the way of a decision: operations of the graph do.
        nodes = {
            node.name: node.at("", node.inputs, tuple(each for each in node.controls if _is_way(whole, each)))
            for node in whole.nodes.values()
            if node.name not in hidden
        }
        super().__init__(FileGraph("", nodes), state, prefix, {})
        # By the names of variables, what gives them their first values.
        self._first = self._find_first()
        self._behind = behind
        self._variables: dict[str, GraphVariable] = {}
        self._operations: dict[str, Any] = {}
        self._inner: set[str] = set()
        # Whether what is added runs behind operations that change variables.
        self._is_behind = False

    def _find_first(self) -> dict[str, str]:
        collections = self._meta.collection_def
        listed = [
            each
            for key in ("variables", _LOCAL)
            if key in collections
            for each in collections[key].bytes_list.value
        ]
        found = {}
        for each in listed:
            variable = parse("VariableDef", each, "a collection of variables")
            found[tensor_name(variable.variable_name)[0]] = tensor_name(variable.initializer_name)[0]
        for node in self.graph.nodes.values():
            if node.op in _OF_VARIABLES and f"{node.name}/Assign" in self.graph.nodes:
                found.setdefault(node.name, f"{node.name}/Assign")
        return {
            name: assign
            for name, assign in found.items()
            if assign in self.graph.nodes
            and self.graph.nodes[assign].op in _FIRST_VALUES
            and len(self.graph.nodes[assign].inputs) == 2
        }

    def _find_unlinked(self, whole: FileGraph) -> set[str]:
        """Return the nodes that change a variable that can't be found, with all that needs them."""
        found = {
            node.name
            for node in whole.nodes.values()
            if node.op.startswith(_CHANGING)
            and (not node.inputs or _variable_of(whole, node.inputs[0]) is None)
        }
        return with_consumers(whole, found, ("Identity", "NoOp"))

    def _tell(self, left_out: set[str], unknown: set[str]) -> None:
        if not left_out:
            return
        kinds = sorted({self._whole.nodes[name].op for name in unknown & left_out})
        _logger.warning(
            "import_meta_graph leaves out %d of %d operations, %s for instance: %s.",
            len(left_out),
            len(self._whole.nodes),
            shown(sorted(left_out)[0]),
            f"{', '.join(kinds[:10])} are not known here"
            if kinds
            else "they change variables within decisions",
        )

    def add_all(self) -> None:
        """Add the nodes of the graph, variables first, in the order in which they were made."""
        graph = self.graph
        in_frames = find_in_frames(graph)
        order = order_of(graph, [each for each in graph.nodes if each not in in_frames], ())
        check(graph, order, self.state, "graph")
        self._inner = find_inner(graph, order) | in_frames
        self._fill_tables()
        # Variables are listed as they were.
        for name in self._list_names("variables"):
            self._add(self.graph.node(name))
        for node in order:
            self._add(node)

    def _fill_tables(self) -> None:
        collections = self._meta.collection_def
        if "table_initializer" in collections:
            names = [tensor_name(each)[0] for each in collections["table_initializer"].node_list.value]
            order = order_of(self.graph, [each for each in names if each in self.graph.nodes], ())
            GraphRun(self.state, is_host=True).follow(self.graph, order, {}, ())

    def _list_names(self, key: str) -> Iterator[str]:
        """Yield the names of nodes of the variables in a collection."""
        if key in self._meta.collection_def:
            for each in self._meta.collection_def[key].bytes_list.value:
                name = tensor_name(parse("VariableDef", each, "a collection of variables").variable_name)[0]
                if name in self.graph.nodes and self.graph.nodes[name].op in _OF_VARIABLES:
                    yield name

    def _add(self, node: FileNode) -> None:
        if node.op in _OF_VARIABLES:
            self._add_variable(node)
        elif node.name not in self._inner and node.name not in self._operations and node.op not in _FILLING:
            self.add_node(node, self._inner)

    def _add_variable(self, node: FileNode) -> None:
        if node.name in self._variables:
            return
        first = self._first.get(node.name)
        value = None if first is None else self._find_first_value(node, self.graph.nodes[first].inputs[1])
        if not isinstance(value, GraphTensor) or not value.shape.is_fully_defined():
            shape = node.get("shape")
            if shape is None or None in shape:
                raise DataLossError(
                    f"The variable {shown(node.name)} of the file has no shape that is known. Received: {shape}."
                )
            value = np.zeros(shape, node["dtype"])
        name = self.prefix + node.name
        is_local = node.name in set(self._list_names(_LOCAL)) - set(self._list_names("variables"))
        scope = self.target.scope
        with scope.depending_on(None), scope.naming(name):
            made = GraphVariable(
                value,
                trainable=node.name in self.state.trainable,
                collections=[_LOCAL] if is_local else None,
                name=node.name.rpartition("/")[2],
                dtype=node["dtype"],
            )
        self._variables[node.name] = made
        self.state.variable(node, is_reference=node.op != "VarHandleOp").variable = made
        if first is not None:
            self._operations[first] = made.initializer

    def _find_first_value(self, node: FileNode, source: Output) -> Any:
        """Return the tensor of a variable's first value, whose nodes are added."""
        order = order_of(self.graph, [source[0]], {node.name})
        for each in order:
            if each.op in _ASKING:
                # Whether another variable has a value, which an average begins with: both begin alike.
                other = _variable_of(self.graph, each.inputs[0])
                if other is not None and other.name != node.name:
                    self._add_variable(other)
                    return self._variables[other.name].initial_value
        for each in order:
            self._add(each)
        return self.made.get(source)

    def add_node(self, node: FileNode, inner: set[str]) -> None:
        """Add a node, behind the operations that have to run before."""
        scope = self.target.scope
        controls = [
            self._operations[each]
            for each in self._whole.nodes[node.name].controls
            if each in self._operations
        ]
        if node.op == "NoOp":
            self._operations[node.name] = scope.building.add_group(self.prefix + node.name, controls)
            return
        self._is_behind = bool(controls)
        with scope.depending_on(controls):
            if node.op.startswith(_CHANGING):
                self._add_change(node)
            else:
                super().add_node(node, inner)
        if node.name in self._behind:
            found = self.made.get((node.name, 0))
            if isinstance(found, GraphTensor):
                self._operations.setdefault(node.name, found.op)

    def _add_change(self, node: FileNode) -> None:
        """Add what changes variables."""
        handles: dict[Output, Any] = {}
        for each in node.inputs:
            found = _variable_of(self.graph, each)
            if found is not None and _is_handle(node, each):
                handles[each] = self.state.variable(found)
        others = self.boundary(node, self._inner)
        operands = [self.made[each] for each in others]
        changed = handles[node.inputs[0]]
        graph, state = self.graph, self.state

        def call(operands: Sequence[Value]) -> Any:
            known = {**dict(zip(others, operands, strict=True)), **handles}

            def update() -> None:
                order = graph.order([node.name], frozenset(each for each, _ in known))
                GraphRun(state, is_host=False).follow(graph, order, dict(known), ())

            # Of a variable of TensorFlow 1 it is the variable's new value, too.
            value = changed.read if changed.is_reference else None
            return current().operation(update, name=self.prefix + node.name, value=value)

        made: PyTree = self.target.scope.building.add(call, (operands,), {}, kind=node.op)
        self._operations[node.name] = made if isinstance(made, GraphOperation) else made.op
        if isinstance(made, GraphTensor):
            self.made[node.name, 0] = made

    def boundary(self, node: FileNode, inner: set[str]) -> list[Output]:
        """Return what a node is computed of, without variables of TensorFlow 1 that are read again.

        What reads one there gives its memory: behind an operation that has changed it, that is its new value.
        """
        found = super().boundary(node, inner)
        return [each for each in found if not (self._is_behind and self._is_reading(each))]

    def _is_reading(self, output: Output) -> bool:
        node = self.graph.node(output[0])
        return (
            node.op == "Identity"
            and not self._whole.nodes[node.name].controls
            and self.graph.node(node.inputs[0][0]).op in ("Variable", "VariableV2")
        )

    def add_collections(self) -> None:
        """Add what was in collections, without the variables that are there by themselves."""
        collections = self.target.scope_collections
        own = ("variables", "trainable_variables", _LOCAL, "table_initializer", *_NOT_KEPT)
        for key in self._meta.collection_def:
            message = self._meta.collection_def[key]
            kind = message.WhichOneof("kind")
            if key in own or kind is None:
                continue
            if kind == "bytes_list":
                values: list[Any] = [self._variables[name] for name in self._list_names(key)]
            elif kind == "node_list":
                values = [each for each in map(self._find_item, message.node_list.value) if each is not None]
            else:
                values = list(getattr(message, kind).value)
            for each in values:
                if not any(each is other for other in collections.get(key)):
                    collections.add(key, each)

    def _find_item(self, text: str) -> Any:
        place = tensor_name(text)
        if place[0] in self._variables:
            return self._variables[place[0]]
        found = self.made.get(place)
        if ":" in text:
            return found
        return self._operations.get(place[0]) or getattr(found, "op", None)

    def make_saver(self, **arguments: Any) -> Saver | None:
        """Return a saver of the variables by the names that they have in checkpoints."""
        if not self._variables:
            return None
        names = self._find_names() or {
            variable.path.removeprefix(self.prefix): variable
            for name, variable in self._variables.items()
            if name not in set(self._list_names(_LOCAL)) - set(self._list_names("variables"))
        }
        saver = self._meta.saver_def
        if saver.restore_op_name:
            arguments = {
                "max_to_keep": saver.max_to_keep,
                "keep_checkpoint_every_n_hours": saver.keep_checkpoint_every_n_hours or 10000.0,
            } | arguments
        return Saver(names, **arguments)

    def _find_names(self) -> Mapping[str, GraphVariable]:
        """Return variables by the names by which the file restores them."""
        found = {}
        for node in self._whole.nodes.values():
            if node.op not in _FIRST_VALUES or len(node.inputs) != 2:
                continue
            source = node.inputs[1]
            while self._whole.node(source[0]).op == "Identity":
                source = self._whole.node(source[0]).inputs[0]
            variable = _variable_of(self._whole, node.inputs[0])
            restore = self._whole.node(source[0])
            if restore.op != "RestoreV2" or variable is None or variable.name not in self._variables:
                continue
            names = np.reshape(self._whole.node(restore.inputs[1][0])["value"], -1)
            name = names[source[1]]
            found[name.decode() if isinstance(name, bytes) else str(name)] = self._variables[variable.name]
        return found


def _variable_of(graph: FileGraph, output: Output) -> FileNode | None:
    """Return the variable that an output is a handle of, or a reference to."""
    while True:
        node = graph.nodes.get(output[0])
        if node is None or node.op in _OF_VARIABLES:
            return node
        if not (node.op.startswith(_CHANGING) or node.op == "RefIdentity") or not node.inputs:
            return None
        output = node.inputs[0]


def _is_way(graph: FileGraph, name: str) -> bool:
    """Return whether a node stands for one way of a decision."""
    node = graph.node(name)
    return node.op in _SWITCHES or (
        node.op == "Identity" and bool(node.inputs) and graph.node(node.inputs[0][0]).op in _SWITCHES
    )


# How many variables operations change, whose handles come first; one for others.
_HANDLES = {
    "Momentum": 2,
    "Adagrad": 2,
    "Adam": 3,
    "Adadelta": 3,
    "RMSProp": 3,
    "Ftrl": 3,
    "CenteredRMSProp": 4,
}


def _is_handle(node: FileNode, output: Output) -> bool:
    """Return whether an operand of what changes variables is one of them, and not a value."""
    count = _HANDLES.get(node.op.removeprefix("Resource").removeprefix("Apply"), 1)
    return output in node.inputs[:count]
