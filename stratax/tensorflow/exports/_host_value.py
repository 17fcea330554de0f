"""What stands for a value that is known on the host when an export runs (export layer)."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import TensorShape
from stratax.errors import BadTypeError
from stratax.export.parts import STRING, TensorInfo
from stratax.tensorflow.exports import _host_functions
from stratax.tensorflow.exports._blank_sizes import BlankSizes
from stratax.tensorflow.exports._host_plan import GET_ITEM
from stratax.tensorflow.ops.calls import labels

# By how they are called in Python: what they are called in TensorFlow.
_OPERATORS = {
    "add": "math.add",
    "sub": "math.subtract",
    "mul": "math.multiply",
    "truediv": "math.divide",
    "floordiv": "math.floordiv",
    "mod": "math.floormod",
    "pow": "math.pow",
    "matmul": "linalg.matmul",
    "and": "math.logical_and",
    "or": "math.logical_or",
    "eq": "math.equal",
    "ne": "math.not_equal",
    "lt": "math.less",
    "le": "math.less_equal",
    "gt": "math.greater",
    "ge": "math.greater_equal",
}
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or")
_UNARY = {"neg": "math.negative", "abs": "math.abs", "invert": "math.logical_not"}
_CONVERSIONS = ("bool", "int", "float", "index", "len", "iter", "contains", "array")


class CallRecorder(Protocol):
    """Records what is made of values."""

    sizes: BlankSizes

    def record_call(self, function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result."""

    def record(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for the result of a call, by the function's name."""

    def applied(self, function: Callable[..., Any], operands: Sequence[Any], name: str, gives: object) -> Any:
        """Return what stands for a function's result, by what it does."""

    def argument(self, value: "RecordedValue") -> Any:
        """Return a value as an argument of the program."""


class RecordedValue(labels.TextSymbol):
    """A value that is known on the host, when an export runs.

    Attributes:
        id: By which the plan knows it.
        dtype: Its dtype; `object` for text.
        dims: Its sizes: numbers, and names of those that are not known.
        is_late: Whether it is made of what the program computes.

    Args:
        recorder: Who records what is made of it.
        id: By which the plan knows it.
        blanks: It in the two blank examples.
        is_late: Whether it is made of what the program computes.
    """

    # For compiled functions whose signature has text.
    stands_for_text = True

    def __init__(
        self,
        recorder: "CallRecorder",
        id: str,
        blanks: tuple[np.ndarray, np.ndarray],
        *,
        is_late: bool = False,
    ) -> None:
        self._recorder = recorder
        self.id = id
        self.blanks = blanks
        self.dtype = blanks[0].dtype
        self.dims = recorder.sizes.dims_of(id, blanks)
        self.is_late = is_late

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Its sizes; None for those that are not known."""
        return tuple(size if isinstance(size, int) else None for size in self.dims)

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.dims)

    def get_shape(self) -> Any:
        """Return its sizes, as a tensor does."""
        return TensorShape(self.shape)

    def set_shape(self, shape: object) -> None:
        """Say what its sizes are, as TensorFlow's `set_shape`; they are checked when the export runs."""
        made = self._recorder.record_call(_host_functions.function_named("ensure_shape"), (self, shape), {})
        if isinstance(made, RecordedValue):
            self.id, self.blanks, self.dims = made.id, made.blanks, made.dims

    @property
    def info(self) -> TensorInfo:
        """What it is, as signatures say it."""
        return TensorInfo(STRING if self.dtype.hasobject else self.dtype.name, self.shape)

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others: see :class:`TextSymbol`."""
        return self._recorder.applied(function, operands, name, None)

    def __getitem__(self, index: object) -> Any:
        return self._recorder.record(GET_ITEM, (self, index), {})

    def __jax_array__(self) -> Any:
        """Return it as an argument of the program that is being traced."""
        return self._recorder.argument(self)

    def __repr__(self) -> str:
        return f"<HostValue {self.info}>"

    __hash__ = object.__hash__

    def _refuse(self, *others: object) -> NoReturn:
        del others
        raise BadTypeError(
            "A value that is known only when an export runs was asked for now. Expected: functions of tf that compute "
            "with it, of which an export may call those of tf.io, tf.image, tf.strings, tf.lookup and common ones "
            f"of tf.math on the host. Received: {shown(self)}."
        )


def _operator(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    def operator(self: RecordedValue, other: object) -> Any:
        function = _host_functions.function_named(name)
        return function(other, self) if reflected else function(self, other)

    return operator


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: _host_functions.function_named(name)(self)


for _short, _name in _OPERATORS.items():
    setattr(RecordedValue, f"__{_short}__", _operator(_name))
for _short in _REFLECTED:
    setattr(RecordedValue, f"__r{_short}__", _operator(_OPERATORS[_short], reflected=True))
for _short, _name in _UNARY.items():
    setattr(RecordedValue, f"__{_short}__", _unary(_name))
for _short in _CONVERSIONS:
    setattr(RecordedValue, f"__{_short}__", RecordedValue._refuse)


def info_of(value: object) -> TensorInfo | None:
    """Return what a value is, as signatures say it; None of a SparseTensor."""
    if isinstance(value, RecordedValue):
        return value.info
    if not isinstance(value, jax.core.Tracer):
        return None
    sizes = (int(size) if isinstance(size, int | np.integer) else None for size in value.shape)
    return TensorInfo(np.dtype(value.dtype).name, tuple(sizes))
