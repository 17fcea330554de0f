"""What the host computes before and behind a program: calls of functions by name, as values of JSON (export layer).

A plan has no code: it names functions of a fixed list (`_host_functions.py`) and their arguments. What a call gives has
an id; arguments refer to those of earlier calls, to inputs and to results of the program.
"""

import base64
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from stratax.base.shown import shown
from stratax.data import FixedLenFeature, FixedLenSequenceFeature, SparseTensor, VarLenFeature
from stratax.errors import BadTypeError
from stratax.export.parts import TensorInfo, find_dtype, leaves_in
from stratax.tensorflow.ops.tables.lookup import (
    KeyValueTensorInitializer,
    StaticHashTable,
    StaticVocabularyTable,
)

_FEATURES = {each.__name__: each for each in (FixedLenFeature, FixedLenSequenceFeature, VarLenFeature)}
# An index of some dimensions; what a function is called that has to be told apart from those of `tf`.
GET_ITEM, MAP, RANDOM = "getitem", "map_fn", "random.uniform"


@dataclasses.dataclass(frozen=True, slots=True)
class RuntimeValue:
    """A value that is known at run time.

    Attributes:
        id: That of an input (``"in/..."``), of a program's result (``"out/..."``), or of a call's.
    """

    id: str


@dataclasses.dataclass(frozen=True, eq=False)
class CallTable:
    """A table that a call looks something up in: `tf.lookup.StaticHashTable` or `StaticVocabularyTable`.

    Attributes:
        constants: What it is made of, as its `as_constants` gives it.
    """

    constants: Mapping[str, Any]

    @functools.cached_property
    def made(self) -> StaticHashTable | StaticVocabularyTable:
        """The table."""
        keys = self.constants["keys"]
        if "num_oov_buckets" in self.constants:
            ids = (
                KeyValueTensorInitializer(keys, np.arange(len(keys)), value_dtype=np.int64)
                if len(keys)
                else None
            )
            return StaticVocabularyTable(ids, self.constants["num_oov_buckets"], keys.dtype)
        given = KeyValueTensorInitializer(keys, self.constants["values"])
        return StaticHashTable(given, self.constants["default_value"])


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A function that is called.

    Attributes:
        function: Its name below `tf`.
        args: What it is called with, which may hold :class:`RuntimeValue`.
        kwargs: What it is called with by name.
        gives: Its result, a structure of :class:`RuntimeValue`.
        body: What is called for each row, of `tf.map_fn`.
    """

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    gives: Any
    body: "CallPlan | None" = None

    def refs(self) -> list[RuntimeValue]:
        """Return what it needs."""
        inside = [] if self.body is None else self.body.refs()
        return [*refs_in((self.args, dict(self.kwargs))), *inside]


@dataclasses.dataclass(frozen=True, slots=True)
class CallPlan:
    """Calls, in order.

    Attributes:
        calls: The calls.
        gives: Ids of what is used of them, by name.
        infos: What is expected of those, by name: of the arguments of a program.
    """

    calls: tuple[Call, ...]
    gives: Mapping[str, str]
    infos: Mapping[str, TensorInfo]

    def refs(self) -> list[RuntimeValue]:
        """Return what it needs."""
        return [*(ref for call in self.calls for ref in call.refs()), *map(RuntimeValue, self.gives.values())]

    def drop_unneeded(self) -> Self:
        """Return the plan without calls whose results nothing needs."""
        wanted = set(self.gives.values())
        kept: list[Call] = []
        for call in reversed(self.calls):
            if any(ref.id in wanted for ref in refs_in(call.gives)):
                kept.append(call)
                wanted.update(ref.id for ref in call.refs())
        return dataclasses.replace(self, calls=tuple(reversed(kept)))

    def as_json(self) -> dict[str, Any]:
        """Return the plan as values of JSON."""
        calls = [
            {
                "function": call.function,
                "args": encode(call.args),
                "kwargs": encode(dict(call.kwargs)),
                "gives": encode(call.gives),
                "body": None if call.body is None else call.body.as_json(),
            }
            for call in self.calls
        ]
        infos = {name: dataclasses.asdict(each) for name, each in self.infos.items()}
        return {"calls": calls, "gives": dict(self.gives), "infos": infos}

    @classmethod
    def from_json(cls, values: Any, infos: Callable[[Any], Mapping[str, TensorInfo]]) -> "CallPlan":
        """Return the plan that :meth:`as_json` has given.

        Args:
            values: Values of JSON.
            infos: Reads those of arrays.

        Raises:
            KeyError: Something is missing. Also TypeError, ValueError.
        """
        calls = []
        for each in values["calls"]:
            args, kwargs = decode(each["args"]), decode(each["kwargs"])
            if (
                type(args) is not tuple
                or type(kwargs) is not dict
                or not all(isinstance(key, str) for key in kwargs)
            ):
                raise TypeError(f"the arguments of {shown(each['function'])} are no arguments")
            body = None if each["body"] is None else cls.from_json(each["body"], infos)
            calls.append(Call(str(each["function"]), args, kwargs, decode(each["gives"]), body))
        gives = {str(name): str(ref) for name, ref in values["gives"].items()}
        return cls(tuple(calls), gives, infos(values["infos"]))


def refs_in(value: object) -> list[RuntimeValue]:
    """Return the references in a structure."""
    return [each for each in leaves_in(value) if isinstance(each, RuntimeValue)]


def replace_leaves(value: object, replace: Callable[[Any], Any]) -> Any:
    """Return a structure with each leaf replaced."""
    if isinstance(value, Mapping):
        return {key: replace_leaves(each, replace) for key, each in value.items()}
    if isinstance(value, SparseTensor):
        return SparseTensor.of_parts(replace_leaves(each, replace) for each in value.parts)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        make: Any = getattr(type(value), "_make")  # noqa: B009
        return make(replace_leaves(each, replace) for each in value)
    if isinstance(value, list | tuple):
        return type(value)(replace_leaves(each, replace) for each in value)
    if isinstance(value, slice):
        return slice(*(replace_leaves(each, replace) for each in (value.start, value.stop, value.step)))
    return replace(value)


def encode(value: object) -> Any:
    """Return an argument as values of JSON.

    Raises:
        BadTypeError: It is of a kind that no plan has.
    """
    if isinstance(value, RuntimeValue):
        return {"ref": value.id}
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, StaticHashTable | StaticVocabularyTable):
        return {"table": encode(value.as_constants())}
    if isinstance(value, CallTable):
        return {"table": encode(value.constants)}
    if isinstance(value, SparseTensor):
        return {"sparse": [encode(each) for each in value.parts]}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(each) for each in value]}
    if isinstance(value, Mapping):
        return {"dict": [[encode(key), encode(each)] for key, each in value.items()]}
    if isinstance(value, slice):
        return {"slice": [encode(each) for each in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, FixedLenFeature | FixedLenSequenceFeature | VarLenFeature):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        return {"feature": type(value).__name__, "fields": encode(fields)}
    if isinstance(value, np.dtype | type) or hasattr(value, "as_numpy_dtype"):
        return {"dtype": _dtype_name(value)}
    if hasattr(value, "__array__") or isinstance(value, np.generic):
        return _encode_array(np.asarray(value))
    raise BadTypeError(
        "The host's part of an export holds numbers, text, arrays, dtypes and structures of these. Received: "
        f"{shown(value)}."
    )


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype.kind in "OSU":
        flat = [each.encode() if isinstance(each, str) else each for each in array.reshape(-1).tolist()]
        if not all(isinstance(each, bytes) for each in flat):
            raise BadTypeError(
                f"The host's part of an export holds no array of objects. Received: {shown(array)}."
            )
        return {"texts": [base64.b64encode(each).decode() for each in flat], "shape": list(array.shape)}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array": data, "dtype": array.dtype.name, "shape": list(array.shape)}


def _dtype_name(value: Any) -> str:
    dtype = np.dtype(getattr(value, "as_numpy_dtype", value))
    return "string" if dtype.hasobject or dtype.kind in "SU" else dtype.name


def decode(value: Any) -> Any:
    """Return the argument that :func:`encode` has given.

    Raises:
        KeyError: It is none. Also TypeError, ValueError.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [decode(each) for each in value]
    kind = next(iter(value), "")
    content: Any = value[kind]
    if kind == "array":
        data = np.frombuffer(base64.b64decode(content, validate=True), find_dtype(value["dtype"]))
        return data.reshape(value["shape"])
    if kind == "texts":
        made = np.empty(len(content), object)
        made[:] = [base64.b64decode(each, validate=True) for each in content]
        return made.reshape(value["shape"])
    if kind == "feature":
        return _FEATURES[content](**decode(value["fields"]))
    return _DECODED[kind](content)


_DECODED: dict[str, Callable[[Any], Any]] = {
    "ref": lambda content: RuntimeValue(str(content)),
    "float": float,
    "bytes": lambda content: base64.b64decode(content, validate=True),
    "sparse": lambda content: SparseTensor.of_parts(map(decode, content)),
    "table": lambda content: CallTable(decode(content)),
    "tuple": lambda content: tuple(map(decode, content)),
    "dict": lambda content: {decode(key): decode(each) for key, each in content},
    "slice": lambda content: slice(*map(decode, content)),
    "ellipsis": lambda content: Ellipsis,
    "dtype": lambda content: np.dtype(object) if content == "string" else find_dtype(str(content)),
}
