"""Structures of arguments and results that a file describes (saved_models layer)."""

import inspect
from typing import Any

from stratax.data import RaggedTensor, RaggedTensorSpec, SparseTensor, SparseTensorSpec
from stratax.data.elements import TensorSpec
from stratax.errors import DataLossError, UnimplementedError
from stratax.tensorflow.saved_models.graph import dtype_of, shape_of
from stratax.tensorflow.saved_models.messages import Message

_SPARSE, _RAGGED = 1, 3
_MOST_DEPTH = 60


class Leaves:
    """The tensors of a structure, in the order in which functions take them.

    Attributes:
        specs: What each is: a spec, also of several arrays that make one tensor.
        counts: Of how many arrays each is made.
    """

    def __init__(self) -> None:
        self.specs: list[Any] = []
        self.counts: list[int] = []

    def add(self, spec: Any) -> dict[str, Any]:
        """Note a tensor; return what stands for it in the structure."""
        self.specs.append(spec)
        self.counts.append(_count(spec))
        return {"tensor": len(self.specs) - 1}

    @property
    def count(self) -> int:
        """Of how many arrays all are made."""
        return sum(self.counts)

    def unpack(self, values: list[Any]) -> list[Any]:
        """Return the arrays that tensors are made of."""
        made: list[Any] = []
        for spec, value in zip(self.specs, values, strict=True):
            if isinstance(spec, SparseTensorSpec):
                made += [value.indices, value.values, value.dense_shape]
            elif isinstance(spec, RaggedTensorSpec):
                made += [value.flat_values, *value.nested_row_splits]
            else:
                made.append(value)
        return made

    def pack(self, arrays: list[Any]) -> list[Any]:
        """Return the tensors that arrays make."""
        made: list[Any] = []
        place = 0
        for spec, count in zip(self.specs, self.counts, strict=True):
            parts = arrays[place : place + count]
            place += count
            if isinstance(spec, SparseTensorSpec):
                made.append(SparseTensor(*parts))
            elif isinstance(spec, RaggedTensorSpec):
                value, *splits = parts
                for each in reversed(splits):
                    value = RaggedTensor(value, each)
                made.append(value)
            else:
                made.append(parts[0])
        return made


def _count(spec: Any) -> int:
    if isinstance(spec, SparseTensorSpec):
        return 3
    return 1 + spec.ragged_rank if isinstance(spec, RaggedTensorSpec) else 1


def decode(message: Message, leaves: Leaves, depth: int = 0) -> dict[str, Any]:
    """Return a structure as `stratax.tensorflow.exports` describes them.

    Args:
        message: A `StructuredValue`.
        leaves: Where its tensors are noted.
        depth: How deep it lies in another one.

    Raises:
        DataLossError: It is damaged.
    """
    kind = message.WhichOneof("kind")
    if depth > _MOST_DEPTH:
        raise DataLossError("The file is damaged: a structure of arguments is too deep.")
    if kind in ("tensor_spec_value", "bounded_tensor_spec_value"):
        value = getattr(message, kind)
        return leaves.add(
            TensorSpec(_sizes(value.shape), dtype_of(value.dtype, "An argument"), value.name or None)
        )
    if kind == "type_spec_value":
        return leaves.add(_composite(message.type_spec_value))
    if kind in ("list_value", "tuple_value"):
        parts = [decode(each, leaves, depth + 1) for each in getattr(message, kind).values]
        return {"list" if kind == "list_value" else "tuple": parts}
    if kind == "dict_value":
        fields = message.dict_value.fields
        return {"dict": [[key, decode(fields[key], leaves, depth + 1)] for key in sorted(fields)]}
    if kind == "named_tuple_value":
        return {"tuple": [decode(each.value, leaves, depth + 1) for each in message.named_tuple_value.values]}
    return {"constant": plain(message)}


def _sizes(shape: Message) -> Any:
    return shape_of(shape)


def _composite(message: Message) -> Any:
    state = [_leaf(each) for each in message.type_state.tuple_value.values]
    if message.type_spec_class == _SPARSE and len(state) == 2:
        return SparseTensorSpec(*state)
    if message.type_spec_class == _RAGGED and len(state) >= 3:
        return RaggedTensorSpec(state[0], state[1], state[2], *state[3:4])
    raise UnimplementedError(
        f"It takes or gives a value of the class {message.type_spec_class} of TensorFlow's specs, which is no tensor."
    )


def _leaf(message: Message) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "tensor_shape_value":
        return _sizes(message.tensor_shape_value)
    if kind == "tensor_dtype_value":
        return dtype_of(message.tensor_dtype_value, "An argument")
    return plain(message)


def plain(message: Message) -> Any:
    """Return a number, text, or a list or dict of such; None for everything else."""
    kind = message.WhichOneof("kind")
    if kind in ("list_value", "tuple_value"):
        return [plain(each) for each in getattr(message, kind).values]
    if kind == "named_tuple_value":
        return {each.key: plain(each.value) for each in message.named_tuple_value.values}
    if kind == "dict_value":
        return {key: plain(message.dict_value.fields[key]) for key in sorted(message.dict_value.fields)}
    if kind in ("float64_value", "int64_value", "string_value", "bool_value"):
        return getattr(message, kind)
    return None


_Parameter = inspect.Parameter


def signature_of(message: Message) -> inspect.Signature:
    """Return the parameters of a function that a `FunctionSpec` describes."""
    described = plain(message.fullargspec) or {}
    names = [str(each) for each in described.get("args") or []]
    defaults = list(described.get("defaults") or [])
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False)) if defaults else {}
    if (message.is_method or names[:1] == ["self"]) and names:
        names = names[1:]
    made = [_parameter(name, _Parameter.POSITIONAL_OR_KEYWORD, given) for name in names]
    only = described.get("kwonlydefaults") or {}
    if described.get("varargs"):
        made.append(_Parameter(described["varargs"], _Parameter.VAR_POSITIONAL))
    made += [
        _parameter(str(name), _Parameter.KEYWORD_ONLY, only) for name in described.get("kwonlyargs") or []
    ]
    if described.get("varkw"):
        made.append(_Parameter(described["varkw"], _Parameter.VAR_KEYWORD))
    return _whole(made)


def _parameter(name: str, kind: Any, defaults: dict[str, Any]) -> inspect.Parameter:
    return _Parameter(name, kind, default=defaults.get(name, _Parameter.empty))


def _whole(parameters: list[inspect.Parameter]) -> inspect.Signature:
    # One without a default behind one with a default can't be written in Python, but comes of what is no constant.
    made, has_default = [], False
    for each in parameters:
        if each.kind is _Parameter.POSITIONAL_OR_KEYWORD:
            has_default = has_default or each.default is not _Parameter.empty
            if has_default and each.default is _Parameter.empty:
                each = each.replace(default=None)
        made.append(each)
    try:
        return inspect.Signature(made)
    except ValueError as error:
        raise DataLossError(
            f"The file is damaged: a function has parameters that can't be: {error}."
        ) from error


def arguments_of(message: Message, signature: inspect.Signature, leaves: Leaves) -> dict[str, Any]:
    """Return the structure of the argument of each parameter, by name.

    Args:
        message: A canonical signature: positional arguments, and those by name.
        signature: The parameters.
        leaves: Where tensors are noted.
    """
    parts = message.tuple_value.values
    if message.WhichOneof("kind") != "tuple_value" or len(parts) != 2:
        raise DataLossError("The file is damaged: a function does not say what it takes.")
    trees = [decode(each, leaves) for each in parts[0].tuple_value.values]
    named = dict(decode(parts[1], leaves)["dict"]) if parts[1].WhichOneof("kind") == "dict_value" else {}
    made: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            if trees:
                made[parameter.name] = trees.pop(0)
            elif parameter.name in named:
                made[parameter.name] = named.pop(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if trees:
                made[parameter.name] = {"tuple": trees}
            trees = []
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.name in named:
            made[parameter.name] = named.pop(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD and named:
            made[parameter.name] = {"dict": sorted(map(list, named.items()))}
    return made
