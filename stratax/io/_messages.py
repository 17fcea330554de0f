"""Protobuf messages that are described in Python, in pools of their own (io layer).

A pool of one's own has room for names that another package, TensorFlow for one, uses in the same process.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tensorflow"
_FieldProto = descriptor_pb2.FieldDescriptorProto
_NAMES = (
    "bool", "bytes", "double", "fixed32", "float", "int32", "int64", "sint64", "string", "uint32", "uint64",
)  # fmt: skip
_SCALARS = {name: getattr(_FieldProto, f"TYPE_{name.upper()}") for name in _NAMES}

# Number and type of each field by name. A type: a scalar or message, after `repeated`, `oneof` or `map` (of text).
Fields = Mapping[str, tuple[int, str]]


def make_messages(
    file_name: str, messages: Mapping[str, Fields], enums: Mapping[str, Mapping[str, int]] | None = None
) -> dict[str, Any]:
    """Make classes of messages.

    Args:
        file_name: A name for the whole.
        messages: The fields of each message by its name.
        enums: Types of fields whose values are numbers with names in text; by their names, the first one 0.

    Returns:
        The classes by name.
    """
    file = descriptor_pb2.FileDescriptorProto(name=file_name, package=_PACKAGE, syntax="proto3")
    for name, values in (enums or {}).items():
        enum = file.enum_type.add(name=name)
        for key, number in values.items():
            enum.value.add(name=key, number=number)
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add_field(message, field, number, kind, enums or {})
    # A pool of its own: TensorFlow registers the same names in the default one, in the same process.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"{_PACKAGE}.{name}") for name in messages}
    return {name: message_factory.GetMessageClass(descriptor) for name, descriptor in found.items()}


def _add_field(
    message: Any, name: str, number: int, kind: str, enums: Mapping[str, Mapping[str, int]]
) -> None:
    how, _, kind = kind.rpartition(" ")
    if how == "map":
        kind = _add_map_entry(message, name, kind, enums)
    other = _FieldProto.TYPE_ENUM if kind in enums else _FieldProto.TYPE_MESSAGE
    field = message.field.add(name=name, number=number, type=_SCALARS.get(kind, other))
    field.label = _FieldProto.LABEL_REPEATED if how in ("map", "repeated") else _FieldProto.LABEL_OPTIONAL
    if kind not in _SCALARS:
        field.type_name = f".{_PACKAGE}.{kind}"
    if how == "oneof":
        if not message.oneof_decl:
            # The only `oneof` of these messages, named as in TensorFlow's files.
            message.oneof_decl.add(name="kind")
        field.oneof_index = 0


def _add_map_entry(message: Any, field: str, value: str, enums: Mapping[str, Mapping[str, int]]) -> str:
    """Return the message that a map is made of on the wire; its name is fixed by the field's."""
    name = "".join(word.capitalize() for word in field.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _add_field(entry, "key", 1, "string", enums)
    _add_field(entry, "value", 2, value, enums)
    return f"{message.name}.{name}"
