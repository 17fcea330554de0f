"""TensorFlow's messages of graphs, functions and saved objects, as far as they are read (saved_models layer).

The numbers of the fields are those of TensorFlow's files `graph.proto`, `function.proto`, `meta_graph.proto`,
`saved_model.proto`, `saved_object_graph.proto` and `struct.proto`. Parsing takes memory in proportion to the file.
"""

import os
from typing import Any, TypeAlias

from google.protobuf.message import DecodeError

from stratax.base.shown import shown
from stratax.errors import DataLossError
from stratax.io import DATA_TYPE, VALUE_FIELDS, make_messages

# A message of protobuf, whose classes are made while this module is imported.
Message: TypeAlias = Any
_FIELDS = {
    "Dim": {"size": (1, "int64"), "name": (2, "string")},
    "TensorShapeProto": {"dim": (2, "repeated Dim"), "unknown_rank": (3, "bool")},
    "TensorProto": {
        "dtype": (1, "DataType"),
        "tensor_shape": (2, "TensorShapeProto"),
        "version_number": (3, "int32"),
        "tensor_content": (4, "bytes"),
        **VALUE_FIELDS,
    },
    "AttrList": {
        "s": (2, "repeated bytes"),
        "i": (3, "repeated int64"),
        "f": (4, "repeated float"),
        "b": (5, "repeated bool"),
        "type": (6, "repeated DataType"),
        "shape": (7, "repeated TensorShapeProto"),
        "tensor": (8, "repeated TensorProto"),
        "func": (9, "repeated NameAttrList"),
    },
    "NameAttrList": {"name": (1, "string"), "attr": (2, "map AttrValue")},
    "AttrValue": {
        "list": (1, "oneof AttrList"),
        "s": (2, "oneof bytes"),
        "i": (3, "oneof int64"),
        "f": (4, "oneof float"),
        "b": (5, "oneof bool"),
        "type": (6, "oneof DataType"),
        "shape": (7, "oneof TensorShapeProto"),
        "tensor": (8, "oneof TensorProto"),
        "placeholder": (9, "oneof string"),
        "func": (10, "oneof NameAttrList"),
    },
    "NodeDef": {
        "name": (1, "string"),
        "op": (2, "string"),
        "input": (3, "repeated string"),
        "device": (4, "string"),
        "attr": (5, "map AttrValue"),
        "experimental_debug_info": (6, "DebugInfo"),
        "experimental_type": (7, "FullTypeDef"),
    },
    "FullTypeDef": {
        "type_id": (1, "FullTypeId"),
        "args": (2, "repeated FullTypeDef"),
        "s": (3, "string"),
        "i": (4, "int64"),
    },
    "DebugInfo": {
        "original_node_names": (1, "repeated string"),
        "original_func_names": (2, "repeated string"),
    },
    "ArgDef": {
        "name": (1, "string"),
        "type": (3, "DataType"),
        "type_attr": (4, "string"),
        "number_attr": (5, "string"),
        "type_list_attr": (6, "string"),
        "description": (2, "string"),
        "is_ref": (16, "bool"),
        "experimental_full_type": (17, "FullTypeDef"),
    },
    "OpDef": {
        "name": (1, "string"),
        "input_arg": (2, "repeated ArgDef"),
        "output_arg": (3, "repeated ArgDef"),
        "attr": (4, "repeated AttrDef"),
        "summary": (5, "string"),
        "description": (6, "string"),
        "is_stateful": (17, "bool"),
        "control_output": (20, "repeated string"),
    },
    "AttrDef": {
        "name": (1, "string"),
        "type": (2, "string"),
        "default_value": (3, "AttrValue"),
        "description": (4, "string"),
        "has_minimum": (5, "bool"),
        "minimum": (6, "int64"),
        "allowed_values": (7, "AttrValue"),
    },
    "FunctionDef": {
        "signature": (1, "OpDef"),
        "node_def": (3, "repeated NodeDef"),
        "attr": (5, "map AttrValue"),
        # Maps from numbers, which are these messages in files and in text.
        "arg_attr": (7, "repeated ArgAttrEntry"),
        "resource_arg_unique_id": (8, "repeated UniqueIdEntry"),
        "ret": (4, "map string"),
        "control_ret": (6, "map string"),
    },
    "ArgAttrEntry": {"key": (1, "uint32"), "value": (2, "ArgAttrs")},
    "ArgAttrs": {"attr": (1, "map AttrValue")},
    "UniqueIdEntry": {"key": (1, "uint32"), "value": (2, "uint32")},
    "GradientDef": {"function_name": (1, "string"), "gradient_func": (2, "string")},
    "FunctionDefLibrary": {"function": (1, "repeated FunctionDef"), "gradient": (2, "repeated GradientDef")},
    "VersionDef": {
        "producer": (1, "int32"),
        "min_consumer": (2, "int32"),
        "bad_consumers": (3, "repeated int32"),
    },
    "GraphDef": {
        "node": (1, "repeated NodeDef"),
        "library": (2, "FunctionDefLibrary"),
        "version": (3, "int32"),
        "versions": (4, "VersionDef"),
    },
    "MetaInfoDef": {"tags": (4, "repeated string"), "tensorflow_version": (5, "string")},
    "SaverDef": {
        "filename_tensor_name": (1, "string"),
        "restore_op_name": (3, "string"),
        "max_to_keep": (4, "int32"),
        "keep_checkpoint_every_n_hours": (6, "float"),
    },
    "NodeList": {"value": (1, "repeated string")},
    "BytesList": {"value": (1, "repeated bytes")},
    "Int64List": {"value": (1, "repeated int64")},
    "FloatList": {"value": (1, "repeated float")},
    "CollectionDef": {
        "node_list": (1, "oneof NodeList"),
        "bytes_list": (2, "oneof BytesList"),
        "int64_list": (3, "oneof Int64List"),
        "float_list": (4, "oneof FloatList"),
    },
    "VariableDef": {"variable_name": (1, "string"), "initializer_name": (2, "string")},
    "CooSparse": {
        "values_tensor_name": (1, "string"),
        "indices_tensor_name": (2, "string"),
        "dense_shape_tensor_name": (3, "string"),
    },
    "TensorInfo": {
        "name": (1, "oneof string"),
        "dtype": (2, "DataType"),
        "tensor_shape": (3, "TensorShapeProto"),
        "coo_sparse": (4, "oneof CooSparse"),
    },
    "SignatureDef": {
        "inputs": (1, "map TensorInfo"),
        "outputs": (2, "map TensorInfo"),
        "method_name": (3, "string"),
    },
    "AssetFileDef": {"tensor_info": (1, "TensorInfo"), "filename": (2, "string")},
    "ObjectReference": {"node_id": (1, "int32"), "local_name": (2, "string")},
    "SavedUserObject": {"identifier": (1, "string"), "metadata": (3, "string")},
    "SavedAsset": {"asset_file_def_index": (1, "int32")},
    "SavedFunction": {"concrete_functions": (1, "repeated string"), "function_spec": (2, "FunctionSpec")},
    "SavedConcreteFunction": {
        "bound_inputs": (2, "repeated int32"),
        "canonicalized_input_signature": (3, "StructuredValue"),
        "output_signature": (4, "StructuredValue"),
    },
    "SavedBareConcreteFunction": {
        "concrete_function_name": (1, "string"),
        "argument_keywords": (2, "repeated string"),
    },
    "SavedConstant": {"operation": (1, "string")},
    "SavedVariable": {
        "dtype": (1, "DataType"),
        "shape": (2, "TensorShapeProto"),
        "trainable": (3, "bool"),
        "name": (6, "string"),
    },
    "FunctionSpec": {"fullargspec": (1, "StructuredValue"), "is_method": (2, "bool")},
    "SavedResource": {"device": (1, "string")},
    "CapturedTensor": {"name": (1, "string"), "concrete_function": (2, "string")},
    "SavedObject": {
        "children": (1, "repeated ObjectReference"),
        "user_object": (4, "oneof SavedUserObject"),
        "asset": (5, "oneof SavedAsset"),
        "function": (6, "oneof SavedFunction"),
        "variable": (7, "oneof SavedVariable"),
        "bare_concrete_function": (8, "oneof SavedBareConcreteFunction"),
        "constant": (9, "oneof SavedConstant"),
        "resource": (10, "oneof SavedResource"),
        "captured_tensor": (12, "oneof CapturedTensor"),
    },
    "SavedObjectGraph": {
        "nodes": (1, "repeated SavedObject"),
        "concrete_functions": (2, "map SavedConcreteFunction"),
    },
    "MetaGraphDef": {
        "meta_info_def": (1, "MetaInfoDef"),
        "graph_def": (2, "GraphDef"),
        "saver_def": (3, "SaverDef"),
        "collection_def": (4, "map CollectionDef"),
        "signature_def": (5, "map SignatureDef"),
        "asset_file_def": (6, "repeated AssetFileDef"),
        "object_graph_def": (7, "SavedObjectGraph"),
    },
    "SavedModel": {
        "saved_model_schema_version": (1, "int64"),
        "meta_graphs": (2, "repeated MetaGraphDef"),
    },
    "NoneValue": {},
    "StructuredList": {"values": (1, "repeated StructuredValue")},
    "DictValue": {"fields": (1, "map StructuredValue")},
    "PairValue": {"key": (1, "string"), "value": (2, "StructuredValue")},
    "NamedTupleValue": {"name": (1, "string"), "values": (2, "repeated PairValue")},
    "TensorSpecProto": {"name": (1, "string"), "shape": (2, "TensorShapeProto"), "dtype": (3, "DataType")},
    "TypeSpecProto": {"type_spec_class": (1, "int32"), "type_state": (2, "StructuredValue")},
    "StructuredValue": {
        "none_value": (1, "oneof NoneValue"),
        "float64_value": (11, "oneof double"),
        "int64_value": (12, "oneof sint64"),
        "string_value": (13, "oneof string"),
        "bool_value": (14, "oneof bool"),
        "tensor_shape_value": (31, "oneof TensorShapeProto"),
        "tensor_dtype_value": (32, "oneof DataType"),
        "tensor_spec_value": (33, "oneof TensorSpecProto"),
        "type_spec_value": (34, "oneof TypeSpecProto"),
        "bounded_tensor_spec_value": (35, "oneof TensorSpecProto"),
        "list_value": (51, "oneof StructuredList"),
        "tuple_value": (52, "oneof StructuredList"),
        "dict_value": (53, "oneof DictValue"),
        "named_tuple_value": (54, "oneof NamedTupleValue"),
    },
}
# What TensorFlow 2 says of nodes besides, for text alone.
_FULL_TYPES = {
    f"TFT_{name}": first + place
    for first, names in {
        0: "UNSET VAR ANY PRODUCT NAMED",
        20: "FOR_EACH",
        100: "CALLABLE",
        200: "BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 HALF FLOAT DOUBLE COMPLEX64 COMPLEX128 STRING",
        215: "BFLOAT16",
        1000: "TENSOR ARRAY OPTIONAL LITERAL ENCODED SHAPE_TENSOR",
        10102: "DATASET RAGGED ITERATOR",
        10202: "MUTEX_LOCK LEGACY_VARIANT",
    }.items()
    for place, name in enumerate(names.split())
}
MESSAGES = make_messages("stratax/saved_model.proto", _FIELDS, {**DATA_TYPE, "FullTypeId": _FULL_TYPES})
# What protobuf itself can hold.
_MOST_BYTES = 1 << 31


def parse(kind: str, content: bytes, where: str) -> Any:
    """Return a message that was read.

    Args:
        kind: What it is, such as ``"GraphDef"``.
        content: Its bytes.
        where: Where they come from, for errors.

    Raises:
        DataLossError: They are no such message.
    """
    try:
        return MESSAGES[kind].FromString(content)
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataLossError(
            f"This is no {kind} of TensorFlow, or it is damaged: {error}. Received: {len(content)} bytes of "
            f"{shown(where)}. Copy it anew."
        ) from error


def read(kind: str, path: str) -> Any:
    """Return the message that is in a file.

    Raises:
        DataLossError: It is too large, or no such message.
        OSError: It can't be read.
    """
    size = os.stat(path).st_size
    if size >= _MOST_BYTES:
        raise DataLossError(
            f"The file {shown(path)} has {size} bytes; a message has less than {_MOST_BYTES}."
        )
    with open(path, "rb") as file:
        return parse(kind, file.read(), path)
