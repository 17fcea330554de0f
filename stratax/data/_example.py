"""The messages of `tf.train.Example` and `tf.train.SequenceExample`, wire-compatible with TensorFlow (data layer).

The protobuf package does the work. The messages are described here, in a pool of their own, so that TensorFlow's may
be imported into the same process.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tensorflow"
_FILE = "stratax/example.proto"
_Field = descriptor_pb2.FieldDescriptorProto
_Shape = tuple[str, int, int, int, str]
"""Name, number, label, type and, of a message, the type's name."""

_MANY, _ONE = _Field.LABEL_REPEATED, _Field.LABEL_OPTIONAL
_MESSAGE = _Field.TYPE_MESSAGE

_MESSAGES: dict[str, list[_Shape]] = {
    "BytesList": [("value", 1, _MANY, _Field.TYPE_BYTES, "")],
    "FloatList": [("value", 1, _MANY, _Field.TYPE_FLOAT, "")],
    "Int64List": [("value", 1, _MANY, _Field.TYPE_INT64, "")],
    "Feature": [
        ("bytes_list", 1, _ONE, _MESSAGE, "BytesList"),
        ("float_list", 2, _ONE, _MESSAGE, "FloatList"),
        ("int64_list", 3, _ONE, _MESSAGE, "Int64List"),
    ],
    "Features": [("feature", 1, _MANY, _MESSAGE, "Features.FeatureEntry")],
    "Example": [("features", 1, _ONE, _MESSAGE, "Features")],
    "FeatureList": [("feature", 1, _MANY, _MESSAGE, "Feature")],
    "FeatureLists": [("feature_list", 1, _MANY, _MESSAGE, "FeatureLists.FeatureListEntry")],
    "SequenceExample": [
        ("context", 1, _ONE, _MESSAGE, "Features"),
        ("feature_lists", 2, _ONE, _MESSAGE, "FeatureLists"),
    ],
}
_MAPS = {"Features": ("FeatureEntry", "Feature"), "FeatureLists": ("FeatureListEntry", "FeatureList")}
_ONEOFS = {"Feature": "kind"}


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in _ONEOFS:
            message.oneof_decl.add(name=_ONEOFS[name])
        for field in fields:
            _add_field(message, field, in_oneof=name in _ONEOFS)
        if name in _MAPS:
            _add_map_entry(message, *_MAPS[name])
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, shape: _Shape, *, in_oneof: bool) -> None:
    name, number, label, kind, type_name = shape
    field = message.field.add(name=name, number=number, label=label, type=kind)
    if type_name:
        field.type_name = f".{_PACKAGE}.{type_name}"
    if in_oneof:
        field.oneof_index = 0


def _add_map_entry(message: descriptor_pb2.DescriptorProto, name: str, value: str) -> None:
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _add_field(entry, ("key", 1, _ONE, _Field.TYPE_STRING, ""), in_oneof=False)
    _add_field(entry, ("value", 2, _ONE, _MESSAGE, value), in_oneof=False)


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_describe())


_DOCS = {
    "BytesList": """Byte strings, wire-compatible with `tf.train.BytesList`: `BytesList(value=[b"..."])`.""",
    "FloatList": """Float32 numbers, wire-compatible with `tf.train.FloatList`: `FloatList(value=[1.5])`.""",
    "Int64List": """Whole numbers, wire-compatible with `tf.train.Int64List`: `Int64List(value=[1, 2])`.""",
    "Feature": """One of `bytes_list`, `float_list` and `int64_list`; `WhichOneof("kind")` tells which.""",
    "Features": """Features by name: `Features(feature={"label": Feature(...)})`.""",
    "Example": """A record of named features, wire-compatible with `tf.train.Example`.

    A protobuf message: made with keyword arguments, written with `SerializeToString()` (with `deterministic=True` equal
    messages give equal bytes) and read with `Example.FromString(data)`. To read many, `parse_example` is much quicker.

    Example:
        >>> from stratax.data import Example, Feature, Features, Int64List
        >>> example = Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[7]))}))
        >>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value[0]
        7
    """,
    "FeatureList": """A sequence of `Feature`, one for each step: `FeatureList(feature=[Feature(...), ...])`.""",
    "FeatureLists": """Sequences by name: `FeatureLists(feature_list={"frames": FeatureList(...)})`.""",
    "SequenceExample": """A record of `context` (`Features`) and of `feature_lists` (`FeatureLists`).""",
}


def _message(name: str) -> Any:
    message = message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    message.__doc__ = _DOCS[name]
    # Where pickle finds the class.
    message.__module__ = "stratax.data"
    return message


BytesList = _message("BytesList")
FloatList = _message("FloatList")
Int64List = _message("Int64List")
Feature = _message("Feature")
Features = _message("Features")
Example = _message("Example")
FeatureList = _message("FeatureList")
FeatureLists = _message("FeatureLists")
SequenceExample = _message("SequenceExample")
