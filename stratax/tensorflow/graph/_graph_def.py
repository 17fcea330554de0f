"""A graph as TensorFlow's message, which TensorBoard shows: `as_graph_def`, `tf.train.write_graph` (graph layer)."""

import os
from typing import Any

import keras
import numpy as np
from google.protobuf import text_format

from stratax.base.typing import DTypeLike, PyTree
from stratax.data.elements import TensorShape
from stratax.io import DATA_TYPE, TYPES_BY_DTYPE, gfile, make_messages
from stratax.tensorflow.graph._nodes import GraphCall, GraphOperation, GraphTensor

# What TensorFlow 1.15 writes for itself.
_PRODUCER = 134
_MESSAGES = make_messages(
    "stratax/graph_def.proto",
    {
        "Dim": {"size": (1, "int64"), "name": (2, "string")},
        "TensorShapeProto": {"dim": (2, "repeated Dim"), "unknown_rank": (3, "bool")},
        "ListValue": {"shape": (7, "repeated TensorShapeProto")},
        "AttrValue": {
            "list": (1, "ListValue"),
            "s": (2, "bytes"),
            "type": (6, "DataType"),
            "shape": (7, "TensorShapeProto"),
        },
        "NodeDef": {
            "name": (1, "string"),
            "op": (2, "string"),
            "input": (3, "repeated string"),
            "device": (4, "string"),
            "attr": (5, "map AttrValue"),
        },
        "VersionDef": {"producer": (1, "int32"), "min_consumer": (2, "int32")},
        "GraphDef": {"node": (1, "repeated NodeDef"), "versions": (4, "VersionDef")},
    },
    DATA_TYPE,
)
GraphDef = _MESSAGES["GraphDef"]


def make_graph_def(graph: PyTree) -> Any:
    """Return a graph as a message: its operations, what each takes, and the types and shapes of what it gives.

    What a function of `tf` computes is one operation, which TensorFlow's loader does not know.

    Args:
        graph: A `tf.Graph`.
    """
    made = GraphDef()
    made.versions.producer = _PRODUCER
    for variable in graph.variables():
        node = made.node.add(name=variable.path, op="VarHandleOp")
        _set_shape(node.attr["shape"].shape, TensorShape(tuple(variable.shape)))
        _set_type(node, "dtype", variable.dtype)
    for operation in graph.operations:
        node = made.node.add(name=operation.name, op=operation.type)
        node.input.extend(_inputs_of(operation))
        if operation.outputs:
            _set_type(node, "T", operation.outputs[0].dtype)
        for each in operation.outputs:
            _set_shape(node.attr["_output_shapes"].list.shape.add(), each.shape)
    return made


def _inputs_of(operation: GraphOperation) -> list[str]:
    call = operation.call
    own = [] if call is None else [*map(_name_of, call.inputs), *_variables_of(call)]
    return [*own, *(f"^{each.name}" for each in operation.control_inputs)]


def _name_of(tensor: GraphTensor) -> str:
    return tensor.name.removesuffix(":0")


def _variables_of(call: GraphCall) -> list[str]:
    used = [*call.reads, *call.writes]
    return list(dict.fromkeys(each.path for each in used if isinstance(each, keras.Variable)))


def _set_type(node: Any, name: str, dtype: DTypeLike) -> None:
    kind = TYPES_BY_DTYPE.get(np.dtype(dtype))
    node.attr[name].type = 0 if kind is None else kind.number


def _set_shape(message: Any, shape: TensorShape) -> None:
    if shape.rank is None:
        message.unknown_rank = True
        return
    for size in shape.as_list():
        message.dim.add(size=-1 if size is None else size)


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Write a graph into a file, as `tf.train.write_graph`; return the file's name.

    Args:
        graph_or_graph_def: The graph, or its message.
        logdir: The folder, which is made if it is not there.
        name: The file's name in it.
        as_text: Whether to write it as text.
    """
    found = graph_or_graph_def
    message = found.as_graph_def() if hasattr(found, "as_graph_def") else found
    gfile.makedirs(logdir)
    path = os.path.join(logdir, name)
    content = text_format.MessageToString(message).encode() if as_text else message.SerializeToString()
    with gfile.GFile(path, "wb") as file:
        file.write(content)
    return path
