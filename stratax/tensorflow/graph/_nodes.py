"""What a graph consists of: tensors that have no values yet, the operations that give them, and calls (graph layer)."""

import dataclasses
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

import jax
import keras
import numpy as np

from stratax import errors
from stratax.base.recording import RECORDER
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, PyTree
from stratax.data.elements import DType, TensorShape
from stratax.tensorflow.graph._recording import Recording
from stratax.tensorflow.ops.arrays.tensor_class import TensorSymbol
from stratax.tensorflow.v1 import Operation, VariableScope
from stratax.tensorflow.v1.parts import TensorNames

# What a tensor is in one of the trials by which its shape was found: its type, or its value where that is known.
Abstract = jax.ShapeDtypeStruct | np.ndarray


def _reflect(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda own, other: compute(other, own)


class _Slice(NamedTuple):
    """A slice, as a structure in which there may be tensors."""

    start: Any
    stop: Any
    step: Any


def _getitem(own: PyTree, index: PyTree) -> Any:
    parts = [slice(*each) if isinstance(each, _Slice) else each for each in index[0]]
    return own[tuple(parts) if index[1] else parts[0]]


def _open_index(index: PyTree) -> Any:
    """Return an index as a structure, and whether it has several parts."""
    parts = index if type(index) in (tuple, list) else (index,)
    opened = [_Slice(each.start, each.stop, each.step) if isinstance(each, slice) else each for each in parts]
    # None is no leaf of a structure, and would be lost.
    return [np.newaxis if each is None else each for each in opened], type(index) in (tuple, list)


# By the names of Python's methods: what computes them, and TensorFlow's name of the operation.
OPERATORS: dict[str, tuple[Callable[..., Any], str]] = {
    "add": (operator.add, "add"),
    "sub": (operator.sub, "sub"),
    "mul": (operator.mul, "mul"),
    "truediv": (operator.truediv, "truediv"),
    "floordiv": (operator.floordiv, "floordiv"),
    "mod": (operator.mod, "FloorMod"),
    "pow": (operator.pow, "pow"),
    "matmul": (operator.matmul, "matmul"),
    "and": (operator.and_, "and"),
    "or": (operator.or_, "or"),
    "xor": (operator.xor, "xor"),
    "lt": (operator.lt, "Less"),
    "le": (operator.le, "LessEqual"),
    "gt": (operator.gt, "Greater"),
    "ge": (operator.ge, "GreaterEqual"),
    "neg": (operator.neg, "Neg"),
    "invert": (operator.invert, "LogicalNot"),
    "abs": (abs, "Abs"),
    "getitem": (_getitem, "strided_slice"),
}
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor")
OPERATORS |= {f"r{name}": (_reflect(OPERATORS[name][0]), OPERATORS[name][1]) for name in _REFLECTED}


class GraphTensor(TensorSymbol, keras.KerasTensor):
    """A tensor of a graph, which a session computes: what `tf.Tensor` is in TensorFlow 1.

    Args:
        call: What it is a result of.
        index: Which result.
        trials: What it is in each of the trials of its shape, by number.
        dtype: Its dtype, where it is another one than on devices.

    Attributes:
        call: What it is a result of.
        index: Which of the results.
        trials: What it is in each of the trials of its shape.
        op: The operation that gives it.
        place: Which output of that it is.
        is_assigned: Whether it is what a variable has once an operation has assigned it.
    """

    # Of Keras' symbolic tensors, which operations of Keras take it for.
    _sparse = _ragged = record_history = False
    # NumPy's arrays leave arithmetic with it to the operators here.
    __array_priority__ = 1000
    is_of_graph = True
    op: "GraphOperation"
    place: int = 0
    is_assigned = False
    # Whether its value is a summary.
    is_summary = False

    def __init__(
        self, call: "GraphCall", index: int, trials: dict[int, Abstract], dtype: DTypeLike | None = None
    ) -> None:
        self.call = call
        self.index = index
        self.trials = trials
        self._dtype = DType(next(iter(trials.values())).dtype if dtype is None else dtype)
        self._shape: TensorShape | None = None
        # Once it was asked for, alone in a list.
        self._sizes: list[list[int | None] | None] | None = None

    @property
    def dtype(self) -> DType:
        """TensorFlow's dtype of its values."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """Its shape, of which sizes may be None, and the rank unknown."""
        if self._shape is None:
            self._shape = _merge_shapes([tuple(each.shape) for each in self.trials.values()])
        return self._shape

    @property
    def sizes(self) -> list[int | None] | None:
        """Its sizes, None where they are not known; None if the rank is not."""
        if self._sizes is None:
            self._sizes = [None if self.shape.rank is None else self.shape.as_list()]
        return self._sizes[0]

    @property
    def ndim(self) -> int | None:
        """The number of its dimensions; None if it is not known."""
        return self.shape.rank

    @property
    def name(self) -> str:
        """Its name, such as `"dense/BiasAdd:0"`."""
        return f"{self.op.name}:{self.place}"

    @property
    def graph(self) -> Any:
        """The graph that it belongs to."""
        return self.call.graph

    @property
    def device(self) -> str:
        """An empty text: a strategy places what is computed."""
        return ""

    @property
    def value_index(self) -> int:
        """Which output of its operation it is."""
        return self.place

    def get_shape(self) -> TensorShape:
        """Return its shape, as far as the graph knows it."""
        return self.shape

    def set_shape(self, shape: object) -> None:
        """Say what is known of its shape besides.

        Args:
            shape: The shape, of which sizes may be None.

        Raises:
            BadArgumentError: If it is another one than the shape that is known.
        """
        merged = self.shape.merge_with(TensorShape(shape) if shape is not None else None)  # type: ignore[arg-type]
        self._shape, self._sizes = merged, None
        if merged.rank is None:
            return
        self.trials = {
            number: _with_shape(trial, merged)
            for number, trial in self.trials.items()
            if len(trial.shape) == merged.rank
        } or {
            number: jax.ShapeDtypeStruct([size or 1 for size in merged.as_list()], trial.dtype)
            for number, trial in self.trials.items()
        }

    def find_constant(self) -> np.ndarray | None:
        """Return its value, if that is known while the graph is built."""
        first = next(iter(self.trials.values()))
        is_known = isinstance(first, np.ndarray) and not self.call.inputs and self.call.function is not None
        return first if is_known else None  # type: ignore[return-value]

    def consumers(self) -> list["GraphOperation"]:
        """Return the operations that compute with it."""
        return self.call.graph.find_consumers(self)  # type: ignore[no-any-return]

    def eval(self, feed_dict: dict[Any, Any] | None = None, session: PyTree = None) -> Any:
        """Return its value, as `session.run` gives it.

        Args:
            feed_dict: Values for placeholders and other tensors.
            session: The session; by default the one that is entered.
        """
        return self.call.graph.find_session(session, f"tensor {self.name!r}").run(self, feed_dict)

    def __jax_array__(self) -> Any:
        recorder = RECORDER.get()
        if isinstance(recorder, Recording):
            return recorder.convert(self)
        return self._refuse()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        recorder = RECORDER.get()
        if isinstance(recorder, Recording):
            return np.asarray(recorder.convert(self), dtype)
        return self._refuse()

    def _refuse(self, *others: object) -> NoReturn:
        raise errors.BadTypeError(
            "A tensor of a graph has no value before a session runs it. Expected: functions of `tf` and its operators, "
            f"which add to the graph, or session.run(tensor). Received: {shown(self)}."
        )

    __bool__ = __float__ = __int__ = __index__ = __len__ = __contains__ = numpy = _refuse  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:
        size = None if not self.shape.rank else self.shape.as_list()[0]
        if size is None:
            self._refuse()
        return iter([self[index] for index in range(size)])  # type: ignore[index]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


def _with_shape(trial: Abstract, shape: TensorShape) -> Abstract:
    if isinstance(trial, np.ndarray):
        return trial
    sizes = [own if given is None else given for own, given in zip(trial.shape, shape.as_list(), strict=True)]
    return jax.ShapeDtypeStruct(sizes, trial.dtype)


def _merge_shapes(shapes: list[tuple[int, ...]]) -> TensorShape:
    """Return what shapes have in common."""
    if len({len(shape) for shape in shapes}) != 1:
        return TensorShape(None)
    return TensorShape([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True)])


def _set_operator(cls: type, name: str, compute: Callable[..., Any], kind: str) -> None:
    """Give a class an operator that adds to the graph."""
    method = f"__{name}__"
    inherited = getattr(cls, method, None)

    def add(self: Any, *others: Any) -> Any:
        recorder = RECORDER.get()
        if isinstance(recorder, Recording):
            others = tuple(map(_open_index, others)) if name == "getitem" else others
            return recorder.compute(compute, (self, *others), kind)
        return GraphTensor._refuse(self) if inherited is None else inherited(self, *others)

    add.__name__ = add.__qualname__ = method
    setattr(cls, method, add)


def add_operators(cls: type) -> type:
    """Give a class the operators of tensors."""
    for name, (compute, kind) in OPERATORS.items():
        _set_operator(cls, name, compute, kind)
    return cls


add_operators(GraphTensor)


def describe_dtype(tensor: GraphTensor) -> str:
    """Return how TensorFlow's errors name the dtype of a placeholder."""
    return {"float32": "float", "float64": "double"}.get(tensor.dtype.name, tensor.dtype.name)


class GraphOperation(Operation):
    """An operation of a graph, as `tf.Operation`.

    Args:
        graph: The graph.
        name: Its name.
        order: Its place among all operations.
        kind: TensorFlow's name of what it does.
        call: What it is a result of; None for one that stands for others alone.
        index: Which of the call's results changes variables when it runs; None if none does.
        control_inputs: The operations that run before it.

    Attributes:
        graph: The graph.
        call: What it is a result of.
        index: Which of the call's results it is.
        outputs: Its tensors.
        type: TensorFlow's name of what it does.
    """

    is_of_graph = True
    updates: bool
    # What it does on the host, before anything is computed, with the session and what is fed.
    begins: Callable[[Any, Any], None] | None = None
    control_inputs: tuple["GraphOperation", ...]

    def __init__(
        self,
        graph: PyTree,
        name: str,
        order: int,
        *,
        kind: str = "NoOp",
        call: "GraphCall | None" = None,
        index: int | None = None,
        control_inputs: Iterable["GraphOperation"] = (),
    ) -> None:
        super().__init__(None, name, control_inputs, order)
        self.graph = graph
        self.call = call
        self.index = index
        self.type = kind
        self.outputs: list[GraphTensor] = []
        # Whether something that is computed behind it may differ from what it is before.
        self.updates = index is not None or any(each.updates for each in self.control_inputs)

    @property
    def inputs(self) -> list["GraphTensor"]:
        """The tensors that it computes with."""
        return [] if self.call is None else list(self.call.inputs)

    @property
    def device(self) -> str:
        """An empty text: a strategy places what is computed."""
        return ""

    @property
    def node_def(self) -> "GraphOperation":
        """The operation itself, which has a `name`."""
        return self

    def get_attr(self, name: str) -> Any:
        """Return an attribute: the dtype of its first output, for `"T"` and `"dtype"`."""
        return self.outputs[0].dtype if name in ("T", "dtype") and self.outputs else None

    def values(self) -> tuple["GraphTensor", ...]:
        """Return its tensors."""
        return tuple(self.outputs)

    def run(self, feed_dict: dict[Any, Any] | None = None, session: PyTree = None) -> None:
        """Run it in a session.

        Args:
            feed_dict: Values for placeholders and other tensors.
            session: The session; by default the one that is entered.
        """
        self.graph.find_session(session, f"operation {self.name!r}").run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """Where in the building of a graph a call was made: with this around it, it means the same again.

    Attributes:
        variable_scope: The variable scope.
        scope_counts: How often each variable scope was entered before.
        used: The variables that were there, by full name.
        shared: Those of `get_variable`.
        names: The names that were given.
    """

    variable_scope: VariableScope
    scope_counts: Counter[str]
    used: dict[str, keras.Variable]
    shared: dict[str, keras.Variable]
    names: TensorNames


@dataclasses.dataclass(eq=False, slots=True)
class GraphCall:
    """A call of a function that was made while a graph was built, and is made again when a session computes it.

    Attributes:
        graph: The graph.
        number: Its place in the graph.
        function: The function; None for what is fed.
        args: Its arguments.
        kwargs: Those with names.
        position: Where it was made.
        controls: The operations that run before it.
        inputs: The tensors that it computes with.
        reads: The variables that it, or one of its operations, reads.
        writes: The variables that its operations write.
        results: What it gives: tensors, operations, and what has no part in a graph.
        is_behind: Whether what it computes may depend on operations that have run.
        is_on_host: Whether it is made on the host, with values.
        source: Gives its results on the host in each run, for what is taken from a dataset; None for others.
    """

    graph: Any
    number: int
    function: Callable[..., Any] | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    position: Position
    controls: tuple["GraphOperation", ...]
    inputs: "list[GraphTensor]" = dataclasses.field(default_factory=list)
    reads: list[keras.Variable] = dataclasses.field(default_factory=list)
    writes: list[keras.Variable] = dataclasses.field(default_factory=list)
    results: list[Any] = dataclasses.field(default_factory=list)
    is_behind: bool = False
    source: Any = None
    is_on_host: bool = False

    def add_input(self, tensor: "GraphTensor") -> None:
        """Note that it computes with a tensor."""
        if all(each is not tensor for each in self.inputs):
            self.inputs.append(tensor)

    def find_order(self) -> None:
        """Find out whether it computes with what operations change."""
        self.is_behind = any(each.updates for each in self.controls) or any(
            each.is_assigned or each.call.is_behind for each in self.inputs
        )
