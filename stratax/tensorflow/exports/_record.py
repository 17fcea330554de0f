"""What stands for values of the host while a function is exported, and the recorder of calls with them (export layer).

Text, images whose sizes differ and SparseTensors are :class:`RecordedValue`s. A call of a function of `tf` with such
becomes a call of the plan; what it gives is found by calling the function on two blank examples, whose unknown sizes
differ. An array of numbers whose sizes are known, but for the number of examples, becomes an argument of the program.
"""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax import export

from stratax.base.recording import NOT_RECORDED, RECORDER, recording_with
from stratax.base.shown import shown
from stratax.base.tracing import as_numbers, has_symbolic_sizes, is_symbolic_size
from stratax.data import FixedLenFeature, FixedLenSequenceFeature, SparseTensor, VarLenFeature
from stratax.data.elements import as_array
from stratax.data.vectorise import on_host
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.export.parts import STRING, TensorInfo, leaves_in
from stratax.seams.jax import size_of
from stratax.tensorflow.exports import _host_functions
from stratax.tensorflow.exports._host_plan import (
    GET_ITEM,
    MAP,
    RANDOM,
    Call,
    CallPlan,
    RuntimeValue,
    refs_in,
    replaced,
)
from stratax.tensorflow.ops.calls import labels

_BATCH = "batch"
# What the id of an input begins with that a signature does not have.
_UNFED = "unfed/"
# In the two blank examples: unknown sizes differ between them, and from one another, so far that parts of them do too.
_BATCHES = (5, 7)
_FIRST_SIZES = (1031, 1543)
# Of what is never large, such as the channels of an image.
_FIRST_SMALL_SIZES = (11, 17)
# What many functions of text take.
_BLANK = b"0"
_KEPT_RANK = 1
_OF_SIZES = ("shape", "size", "rank")
_BY_SIZES = ("broadcast_to", "fill", "repeat", "reshape", "tile")
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
        recorder: "HostRecorder",
        id: str,
        blanks: tuple[np.ndarray, np.ndarray],
        *,
        is_late: bool = False,
    ) -> None:
        self._recorder = recorder
        self.id = id
        self.blanks = blanks
        self.dtype = blanks[0].dtype
        self.dims = recorder.dims_of(id, blanks)
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
        from stratax.data.elements import TensorShape

        return TensorShape(self.shape)

    def set_shape(self, shape: Any) -> None:
        """Say what its sizes are, as TensorFlow's `set_shape`; they are checked when the export runs."""
        made = self._recorder.called(_host_functions.function_named("ensure_shape"), (self, shape), {})
        if isinstance(made, RecordedValue):
            self.id, self.blanks, self.dims = made.id, made.blanks, made.dims

    @property
    def info(self) -> TensorInfo:
        """What it is, as signatures say it."""
        return TensorInfo(STRING if self.dtype.hasobject else self.dtype.name, self.shape)

    def applied(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others: see :class:`TextSymbol`."""
        return self._recorder.applied(function, operands, name, None)

    def __getitem__(self, index: Any) -> Any:
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
    def operator(self: RecordedValue, other: Any) -> Any:
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


class HostArguments:
    """The arguments that the host gives a program.

    Args:
        given: By the ids of values, as the trace has them; None in the trace that finds out which there are.
        token: An argument of the trace that finds out.
        scope: Of symbols for sizes.

    Attributes:
        specs: What was asked for, by id.
    """

    def __init__(self, given: Mapping[str, Any] | None, token: Any, scope: Any) -> None:
        self._given = given
        self._token = token
        self._scope = scope
        self._made: dict[str, Any] = {}
        self.specs: dict[str, jax.ShapeDtypeStruct] = {}

    def of(self, id: str, dims: Sequence[int | str], dtype: Any) -> Any:
        """Return a value as an array of the trace.

        Args:
            id: The value's.
            dims: Its sizes.
            dtype: Its dtype.

        Raises:
            TracingError: The trace that finds out did not ask for it.
        """
        if id not in self._made:
            spec = self.note(id, dims, dtype)
            if self._given is None:
                blank = jnp.zeros(spec.shape, spec.dtype)
                self._made[id] = jax.lax.optimization_barrier((blank, self._token))[0]
            elif id in self._given:
                self._made[id] = self._given[id]
            else:
                raise TracingError(
                    "An exported function computes something else each time that it is traced: it asked for another "
                    "value of the host. Expected: a function that does the same each time."
                )
        return self._made[id]

    def note(self, id: str, dims: Sequence[int | str], dtype: Any) -> jax.ShapeDtypeStruct:
        """Note that a value is an argument; return what it is."""
        self.specs[id] = jax.ShapeDtypeStruct(self.symbolic(dims), jax.dtypes.canonicalize_dtype(dtype))
        return self.specs[id]

    def id_of(self, value: Any) -> str | None:
        """Return the id of a value that was asked for as an array of the trace; None for another one."""
        return next((id for id, made in self._made.items() if made is value), None)

    @property
    def is_traced(self) -> bool:
        """Whether there is a program."""
        return True

    @property
    def has_batch(self) -> bool:
        """Whether one of those that were asked for has the batch's size."""
        return any(str(size) == _BATCH for spec in self.specs.values() for size in spec.shape)

    def blank(self, dims: Sequence[int | str]) -> Any:
        """Return an array of these sizes."""
        return jnp.zeros(self.symbolic(dims), jnp.int32)

    def symbolic(self, dims: Sequence[int | str]) -> tuple[Any, ...]:
        """Return sizes as JAX has them."""
        # A trailing comma: of one size, too, a tuple.
        return tuple(export.symbolic_shape(",".join(map(str, dims)) + ",", scope=self._scope)) if dims else ()


class HostRecorder:
    """Records what a function does with values of the host.

    Args:
        arguments: Of the program that is being traced.

    Attributes:
        infos: What the inputs are, by name.
        inputs: The inputs' names, by what stands for them.
        before: Calls before the program.
        after: Calls behind it.
        results: What of the program's results those need, by id.
        arguments: Of the program.
    """

    def __init__(self, arguments: HostArguments, *, prefix: str = "") -> None:
        self.infos: dict[str, TensorInfo] = {}
        self.before: list[Call] = []
        self.after: list[Call] = []
        self.results: dict[str, Any] = {}
        self.arguments = arguments
        self._prefix = prefix
        self._stays = False
        self._ids = itertools.count()
        self._sizes = itertools.count()
        self._dims: dict[tuple[int, int], str] = {_BATCHES: _BATCH}
        self._latest: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None
        self._inputs: list[tuple[Any, str]] = []
        self._input_names: dict[str, str] = {}
        # Of values that are inputs although the host could make them.
        self._fed: dict[str, str] = {}
        self._takes_fed_only = False
        self._values: dict[str, TensorInfo] = {}

    # Inputs.

    def input(self, name: str, info: TensorInfo) -> Any:
        """Return what stands for an input.

        Args:
            name: Its name.
            info: What it is.
        """
        dims = self.sizes_of(name, info)
        if info.dtype != STRING:
            made: Any = self.arguments.of(f"in/{name}", dims, info.numpy_dtype)
        else:
            sizes = [self._blank_sizes(each) for each in dims]
            first, second = (np.full([pair[which] for pair in sizes], _BLANK, object) for which in (0, 1))
            made = self._value(f"in/{name}", (first, second))
        self._inputs.append((made, name))
        self._values[f"in/{name}"] = info
        return made

    def sizes_of(self, name: str, info: TensorInfo) -> list[int | str]:
        """Return the sizes of an input: numbers, and names of those that are not known."""
        self.infos[name] = info
        index = list(self.infos).index(name)
        return [
            size if size is not None else _BATCH if axis == 0 else f"size{index}_{axis}"
            for axis, size in enumerate(info.shape)
        ]

    def placeholder(self, dtype: Any, shape: Any, name: str | None) -> Any:
        """Return what stands for an input that `tf.placeholder` makes.

        Args:
            dtype: Its dtype.
            shape: Its sizes, of which some may be None; None for one dimension of text.
            name: Its name.

        Raises:
            BadArgumentError: Not even the number of dimensions is known, of numbers.
        """
        wanted = (name or "Placeholder").replace("/", "_")
        unique, count = wanted, 0
        while unique in self.infos:
            count += 1
            unique = f"{wanted}_{count}"
        dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
        kind = STRING if dtype.hasobject or dtype.kind in "SU" else jax.dtypes.canonicalize_dtype(dtype).name
        if shape is None and kind != STRING:
            raise BadArgumentError(
                "A placeholder of an export needs a number of dimensions. Expected: tf.placeholder(dtype, [None]). "
                "Received: shape=None."
            )
        # Text without a shape is serialized examples.
        sizes = (None,) if shape is None else tuple(None if size is None else int(size) for size in shape)
        return self.input(unique, TensorInfo(kind, sizes))

    def name_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Give inputs that placeholders have made the names that the signature has for them.

        Args:
            inputs: What stands for them, by name.

        Raises:
            BadArgumentError: Something is no input.
        """
        for name, value in inputs.items():
            own = next((own for made, own in self._inputs if made is value), None)
            if own is None:
                raise BadArgumentError(
                    "A receiver tensor is what is fed: a placeholder. Expected: tf.compat.v1.placeholder(...). "
                    f"Received: {shown(value)} as {shown(name)}."
                )
            self._input_names[own] = name

    def feed(self, inputs: Mapping[str, Any]) -> None:
        """Have the signature take values, by name, which would be made of other inputs; and nothing else.

        Args:
            inputs: Placeholders, and what the host makes of some.

        Raises:
            BadArgumentError: Something is neither, a SparseTensor for instance.
        """
        self._takes_fed_only = True
        for name, value in inputs.items():
            own = next((own for made, own in self._inputs if made is value), None)
            if own is not None:
                self._input_names[own] = name
            else:
                self._fed[self._fed_id(name, value)] = name

    def _fed_id(self, name: str, value: Any) -> str:
        id = (
            value.id
            if isinstance(value, RecordedValue) and not value.is_late
            else self.arguments.id_of(value)
        )
        if id is None:
            raise BadArgumentError(
                "What an export is fed is a placeholder, or what the host makes of one, such as a feature of "
                f"parse_example. Received: {shown(value)} as {shown(name)}."
            )
        return id

    def info_of(self, value: Any) -> TensorInfo | None:
        """Return what a value is, as signatures say it; None of a SparseTensor."""
        if isinstance(value, RecordedValue):
            return value.info
        if not isinstance(value, jax.core.Tracer):
            return None
        sizes = (int(size) if isinstance(size, int | np.integer) else None for size in value.shape)
        return TensorInfo(np.dtype(value.dtype).name, tuple(sizes))

    def named_infos(self) -> dict[str, TensorInfo]:
        """Return what the inputs are, by the names that the signature has for them."""
        if not self._takes_fed_only:
            return {self._input_names.get(name, name): info for name, info in self.infos.items()}
        named = {name: self.infos[own] for own, name in self._input_names.items()}
        return named | {name: self._fed_info(id) for id, name in self._fed.items()}

    def _fed_info(self, id: str) -> TensorInfo:
        return self._device_info(id) if id in self.arguments.specs else self._values[id]

    def unfed(self, arguments: Iterable[str]) -> set[str]:
        """Return which arguments of the program are made of what the signature is not fed, by their ids."""
        if not self._takes_fed_only:
            return set()
        found = set()
        for id in arguments:
            plan = self.plan_before([id], ())
            refs = () if plan is None else (ref.id for ref in plan.refs())
            if any(each.startswith(_UNFED) for each in (self._renamed_id(id), *refs)):
                found.add(id)
        return found

    def check_fed(self, arguments: Iterable[str], plans: Iterable[CallPlan | None]) -> None:
        """Check that nothing is needed but what the signature is fed.

        Args:
            arguments: The ids of the program's arguments.
            plans: What the host computes.

        Raises:
            BadArgumentError: Something else is needed.
        """
        refs = (ref.id for plan in plans if plan is not None for ref in plan.refs())
        if any(id.startswith(_UNFED) for id in (*map(self._renamed_id, arguments), *refs)):
            raise BadArgumentError(
                "What is fed is not enough: the model reads what is made of another placeholder, too. Expected: inputs "
                f"of which all features are made. Received: {', '.join(sorted(self.named_infos()))}."
            )

    def constant(self, value: Any) -> "RecordedValue":
        """Return text as a value of the host."""
        made = _array(value)
        id = f"{self._prefix}{next(self._ids)}"
        self.before.append(Call("convert_to_tensor", (made,), {}, RuntimeValue(id)))
        return self._value(id, (made, made))

    def new_seed(self) -> str:
        """Add what gives other bits in each call; return its id."""
        id = f"{self._prefix}{next(self._ids)}"
        bits = {"minval": 0, "maxval": 2**31 - 1, "dtype": np.dtype(np.int32)}
        self.before.append(Call(RANDOM, ([2],), bits, RuntimeValue(id)))
        self._values[id] = TensorInfo("uint32", (2,))
        return id

    def _value(
        self, id: str, blanks: tuple[np.ndarray, np.ndarray], *, is_late: bool = False
    ) -> RecordedValue:
        made = RecordedValue(self, id, blanks, is_late=is_late)
        self._values[id] = made.info
        return made

    def results_for(self, outputs: Iterable[RecordedValue]) -> dict[str, Any]:
        """Return what of the program's results the host needs, by id.

        Args:
            outputs: Values that are outputs.
        """
        behind = self._behind(outputs)
        return {id: array for id, array in self.results.items() if id in behind}

    def _behind(self, outputs: Iterable[RecordedValue]) -> set[str]:
        """Return the ids of what the host needs behind the program: not for what nobody is given."""
        gives = {each.id: each.id for each in outputs}
        calls = CallPlan(tuple(self.after), gives, {}).needed().calls
        return {ref.id for call in calls for ref in call.refs()} | gives.keys()

    def plan_before(self, arguments: Iterable[str], outputs: Iterable[RecordedValue]) -> CallPlan | None:
        """Return what the host computes before the program.

        Args:
            arguments: The ids of the program's arguments.
            outputs: Values that are outputs.
        """
        of_program = [id for id in arguments if not id.startswith("in/") and id not in self._fed]
        known = {ref.id for call in self.before for ref in refs_in(call.gives)} - self._fed.keys()
        behind = self._behind(outputs)
        gives = {argument_name(id): id for id in of_program} | {
            f"kept/{id}": id for id in sorted(behind & known)
        }
        if not gives:
            return None
        infos = {
            name: self._device_info(id) if id in of_program else self._values[id]
            for name, id in gives.items()
        }
        return self._renamed(CallPlan(tuple(self.before), gives, infos)).needed()

    def plan_after(self, outputs: Mapping[str, RecordedValue]) -> CallPlan | None:
        """Return what the host computes behind the program.

        Args:
            outputs: The values that are outputs, by name.
        """
        if not outputs:
            return None
        gives = {name: each.id for name, each in outputs.items()}
        infos = {name: each.info for name, each in outputs.items()}
        return self._renamed(CallPlan(tuple(self.after), gives, infos)).needed()

    def _device_info(self, id: str) -> TensorInfo:
        info = self._values[id]
        return dataclasses.replace(info, dtype=jax.dtypes.canonicalize_dtype(info.numpy_dtype).name)

    def _renamed(self, plan: CallPlan) -> CallPlan:
        """Return a plan with the names that the signature has for inputs."""

        def of_value(value: Any) -> Any:
            return RuntimeValue(self._renamed_id(value.id)) if isinstance(value, RuntimeValue) else value

        calls = tuple(
            dataclasses.replace(
                call,
                args=replaced(call.args, of_value),
                kwargs=replaced(dict(call.kwargs), of_value),
                body=None if call.body is None else self._renamed(call.body),
            )
            for call in plan.calls
        )
        gives = {name: self._renamed_id(id) for name, id in plan.gives.items()}
        return dataclasses.replace(plan, calls=calls, gives=gives)

    def _renamed_id(self, id: str) -> str:
        name = id.removeprefix("in/")
        if id in self._fed:
            return f"in/{self._fed[id]}"
        if not id.startswith("in/"):
            return id
        return (
            _UNFED + name
            if self._takes_fed_only and name not in self._input_names
            else f"in/{self._input_names.get(name, name)}"
        )

    def input_name(self, id: str) -> str:
        """Return the name of an argument of the program, by its id."""
        return argument_name(self._renamed_id(id))

    # Blank examples.

    @staticmethod
    def is_value(value: object) -> bool:
        """Return whether something stands for a value of the host, or is a SparseTensor."""
        return isinstance(value, RecordedValue | SparseTensor)

    def blank(self, value: Any) -> Any:
        """Return a value of the host, or an array of the program, as the first blank example has it.

        Args:
            value: It, or a SparseTensor of such, of which each row gets one value: crosses of wide ones are too many.
        """
        if isinstance(value, SparseTensor):
            parts = map(self.blank, value.parts)
            return self._narrow(*parts) if isinstance(value.values, RecordedValue) else SparseTensor(*parts)
        if isinstance(value, RecordedValue):
            return value.blanks[0]
        return self._blank_tracer(value, 0) if isinstance(value, jax.core.Tracer) else value

    @staticmethod
    def _narrow(indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray) -> SparseTensor:
        rank = len(dense_shape)
        rows = min(int(dense_shape[0]), len(values)) if rank > 1 else 1
        places = np.zeros((rows, rank), np.int64)
        places[:, 0] = np.arange(rows)
        return SparseTensor(places, values[:rows], np.array([rows, *[1] * (rank - 1)], np.int64))

    # Sizes.

    def dims_of(self, id: str, blanks: tuple[np.ndarray, np.ndarray]) -> tuple[int | str, ...]:
        """Return the sizes of a value, by those that it has in the blank examples."""
        first, second = (blank.shape for blank in blanks)
        if len(first) != len(second):
            raise BadTypeError(
                f"The number of dimensions of a value of the host is not known. Received: {id} of shapes like {first}, "
                f"{second}."
            )
        return tuple(
            one if one == other else self._dims.setdefault((one, other), f"{self._prefix}d{len(self._dims)}")
            for one, other in zip(first, second, strict=True)
        )

    def _blank_sizes(self, dim: int | str) -> tuple[int, int]:
        if isinstance(dim, int):
            return dim, dim
        known = next((sizes for sizes, name in self._dims.items() if name == dim), None)
        if known is None:
            known = self.new_sizes()
            self._dims[known] = dim
        return known

    def new_sizes(self, *, are_small: bool = False) -> tuple[int, int]:
        """Return sizes in the blank examples that stand for one that is not known."""
        count = next(self._sizes)
        first, second = _FIRST_SMALL_SIZES if are_small else _FIRST_SIZES
        # With a square, so that sums of two differ from sums of two others.
        made = first + 8 * count, second + 24 * count + count**2
        # Every other one is longer, so that ratios differ, too: of an image's height and width.
        return made if are_small or not count % 2 else (made[0], made[1] * 7 // 5)

    # Calls.

    def called(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result: see `stratax.base.recording.Recorder`."""
        name = _host_functions.name_of(function)
        if self._stays:
            args, kwargs = replaced((args, kwargs), self._on_host)
        leaves = list(leaves_in((args, kwargs)))
        hosts = [each for each in leaves if isinstance(each, RecordedValue)]
        if not hosts or name is None:
            if name is None:
                return NOT_RECORDED
            self._latest = name, args, kwargs
            is_text = _is_text_by_sizes(name, args, kwargs) or _is_choice_of_text(name, args, kwargs)
            return self.record(name, args, kwargs) if is_text else NOT_RECORDED
        is_numeric = all(not each.is_late and self._is_argument(each) for each in hosts)
        if is_numeric and any(isinstance(each, jax.core.Tracer) for each in leaves):
            given = replaced(
                (args, kwargs), lambda each: self.argument(each) if isinstance(each, RecordedValue) else each
            )
            return function(*given[0], **given[1])
        if name == MAP:
            return self._mapped(*args, **kwargs)
        if name in _OF_SIZES and self.arguments.is_traced and not self._stays and _has_known_sizes(hosts[0]):
            # As of an array of the program.
            blank = self._sized(hosts[0])
            return function(*(blank if each is hosts[0] else each for each in args), **kwargs)
        return self.record(name, args, kwargs)

    def _sized(self, value: RecordedValue) -> Any:
        """Return an array of the program that has the sizes of a value, whose sizes are known or the batch."""
        if _BATCH not in value.dims or self.arguments.has_batch:
            return self.arguments.blank(value.dims)
        if value.dtype.kind in "biuf":
            return self.argument(value)
        # The program is given nothing else of the batch's size, so far.
        return self.record("strings.length", (value,), {})

    def record(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Add a call to the plan; return what stands for its result.

        Args:
            name: The function's.
            args: Its arguments.
            kwargs: Those with names.
        """
        # What the program is given, the host has: it need not come back from there.
        args, kwargs = replaced((args, kwargs), self._on_host)
        kwargs = {key: each for key, each in kwargs.items() if key != "name"}
        leaves = list(leaves_in((args, kwargs)))
        is_late = any(
            isinstance(each, jax.core.Tracer) or _is_size(each) or getattr(each, "is_late", False)
            for each in leaves
        )
        own_args, own_kwargs = replaced((args, kwargs), self._as_ref)
        blanks = self._blank_results(name, args, kwargs)
        return self._noted(name, own_args, own_kwargs, blanks, is_late=is_late)

    def _noted(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        blanks: tuple[Any, Any],
        *,
        is_late: bool,
        body: CallPlan | None = None,
    ) -> Any:
        second = iter(list(leaves_in(blanks[1])))
        number = f"{self._prefix}{next(self._ids)}"
        parts = itertools.count()

        def stand_in(first: Any) -> RecordedValue:
            part = next(parts)
            id = number if not part else f"{number}.{part}"
            return self._value(id, (_array(first), _array(next(second))), is_late=is_late)

        values = replaced(blanks[0], stand_in)
        gives = replaced(values, lambda each: RuntimeValue(each.id))
        (self.after if is_late else self.before).append(Call(name, args, kwargs, gives, body))
        return values if is_late else replaced(values, self._in_program)

    def _in_program(self, value: RecordedValue) -> Any:
        """Return an array of the program in place of a value of numbers whose sizes are known.

        Small ones of whole numbers or truths, such as the sizes of an image, stay on the host, where functions ask for
        them.
        """
        is_small = value.dtype.kind in "iub" and value.ndim <= _KEPT_RANK and _BATCH not in value.dims
        is_wanted = self.arguments.is_traced and not self._stays and self._is_argument(value) and not is_small
        return self.argument(value) if is_wanted else value

    @staticmethod
    def _is_argument(value: RecordedValue) -> bool:
        return value.dtype.kind in "biuf" and all(
            isinstance(size, int) or (not axis and size == _BATCH) for axis, size in enumerate(value.dims)
        )

    def argument(self, value: RecordedValue) -> Any:
        """Return a value as an argument of the program.

        Raises:
            BadTypeError: It is text, or known after the program only.
        """
        if value.is_late or value.dtype.kind not in "biuf":
            value._refuse()
        return self.arguments.of(value.id, value.dims, value.dtype)

    @contextlib.contextmanager
    def staying_on_host(self) -> Iterator[None]:
        """Have functions of a block compute on the host, also with what the program is given by it."""
        before, self._stays = self._stays, True
        try:
            yield
        finally:
            self._stays = before

    def _on_host(self, value: Any) -> Any:
        """Return an argument of the program as the value that the host gives it; other values as they are."""
        id = self.arguments.id_of(value)
        if id is None:
            return value
        return RecordedValue(self, id, (self._blank_tracer(value, 0), self._blank_tracer(value, 1)))

    def _as_ref(self, value: Any) -> Any:
        if isinstance(value, RecordedValue):
            return RuntimeValue(value.id)
        if isinstance(value, jax.core.Tracer) or _is_size(value):
            return RuntimeValue(self._result(as_numbers(value)))
        return value

    def _result(self, value: Any) -> str:
        """Return the id of an array of the program, which is one of its results then."""
        for id, each in self.results.items():
            if each is value:
                return id
        id = f"out/host_{len(self.results)}"
        self.results[id] = value
        return id

    def _blank_results(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Return what a function gives for the two blank examples."""
        new: list[tuple[int, int]] = []

        def result(which: int) -> Any:
            def blank(value: Any) -> Any:
                if isinstance(value, RecordedValue):
                    return _element(value.blanks[which])
                if _is_size(value):
                    return self._blank_size(value, which)
                return self._blank_tracer(value, which) if isinstance(value, jax.core.Tracer) else value

            given, named = replaced((args, kwargs), blank)
            if name in _RULES:
                return _RULES[name](_NewSizes(self.new_sizes, new, which), *given, **named)
            if name == GET_ITEM:
                return given[0][given[1]]
            return _host_functions.function_named(name)(*given, **named)

        with recording_with(None), on_host(), np.errstate(all="ignore"):
            return result(0), result(1)

    def _blank_tracer(self, value: Any, which: int) -> np.ndarray:
        return np.zeros(self._blank_size(np.asarray(value.shape, object), which), value.dtype)

    def _blank_size(self, sizes: Any, which: int) -> np.ndarray:
        """Return a size, or an array of sizes, as a blank example has it."""

        def of_name(name: str) -> int:
            return self._blank_sizes(name)[which]

        array = np.asarray(sizes, object)
        known = [size_of(size, of_name) if is_symbolic_size(size) else int(size) for size in array.flat]
        return np.array(known, np.int32).reshape(array.shape)[()]

    # Text of what the program computes.

    @property
    def lookup(self) -> labels.Lookup:
        """What stands for text that is looked up by results of the program."""
        return lambda function, indices: self.applied(function, [indices], "gather", object)

    @property
    def apply(self) -> labels.Apply:
        """What stands for a function of text that is called with results of the program."""
        return self.applied

    def applied(self, function: Callable[..., Any], operands: Sequence[Any], name: str, gives: Any) -> Any:
        """Return what stands for the result of the function of `tf` that was called last.

        Args:
            function: What that does, on arrays.
            operands: What it does it with: of the call's arguments.
            name: What it is called, for the error.
            gives: The dtype of the result.

        Raises:
            BadTypeError: Another function does it, which no plan has.
        """
        del function, gives
        symbols = [each for each in operands if isinstance(each, RecordedValue | jax.core.Tracer)]
        if self._latest is not None:
            known, args, kwargs = self._latest
            leaves = list(leaves_in((args, kwargs)))
            if all(any(leaf is each for leaf in leaves) for each in symbols):
                return self.record(known, args, kwargs)
        raise BadTypeError(
            f"{name} computes text on the host, of what an exported program computes, and is none of the functions "
            "that an export has. Expected: tf.gather, tf.strings or tf.lookup. "
            f"Received: {', '.join(map(shown, symbols))}."
        )

    # Rows.

    def _mapped(self, fn: Callable[..., Any], elems: Any, *args: Any, **kwargs: Any) -> Any:
        """Record `tf.map_fn`: what its function does with a row is a plan of its own."""
        leaves = list(leaves_in(elems))
        if not leaves or not all(isinstance(each, RecordedValue) and each.ndim for each in leaves):
            raise BadTypeError(
                "tf.map_fn over values of an export's host takes these only. Expected: text, or images. Received: "
                f"{', '.join(map(shown, leaves))}."
            )
        inner = HostRecorder(_NoArguments(), prefix=f"{self._prefix}{next(self._ids)}/")
        inner._dims, inner._sizes = self._dims, self._sizes
        rows: list[str] = []

        def row(value: RecordedValue) -> RecordedValue:
            blanks = (_array(value.blanks[0][0]), _array(value.blanks[1][0]))
            rows.append(f"{inner._prefix}row{len(rows)}")
            return RecordedValue(inner, rows[-1], blanks)

        with recording_with(inner):
            made = fn(replaced(elems, row))
        results = list(leaves_in(made))
        gives = {f"{index}": _id_of(each) for index, each in enumerate(results)}
        infos = {f"{index}": each.info for index, each in enumerate(results)}
        body = CallPlan(tuple(inner.before), gives, infos)
        first_dim = leaves[0].dims[0]
        blanks = []
        for which, count in enumerate(self._blank_sizes(first_dim)):
            arrays = iter([_repeated(each.blanks[which], count) for each in results])
            blanks.append(replaced(made, functools.partial(_next_of, arrays)))
        own = replaced(elems, self._as_ref)
        return self._noted(MAP, (own,), {"rows": rows}, (blanks[0], blanks[1]), is_late=False, body=body)


def blank_trace(function: Callable[[HostRecorder], Any]) -> None:
    """Call a function with a recorder, and while that stands on the thread, in a trace that is for nothing else.

    Args:
        function: It may make placeholders, and look at what is made of them.
    """

    def body(token: Any) -> Any:
        recorder = HostRecorder(HostArguments(None, token, export.SymbolicScope()))
        # A generator of random numbers that the function counts on would keep what belongs to this trace.
        with recording_with(recorder), keras.StatelessScope():
            function(recorder)
        return token

    jax.make_jaxpr(body)(jax.ShapeDtypeStruct((), np.int32))


def current_recorder() -> HostRecorder:
    """Return the recorder of the export that is being traced.

    Raises:
        TracingError: None is.
    """
    recorder = RECORDER.get()
    if not isinstance(recorder, HostRecorder):
        raise TracingError("No export is being traced.")
    return recorder


class _NoArguments(HostArguments):
    """Of a row: nothing enters the program."""

    def __init__(self) -> None:
        super().__init__(None, None, None)

    @property
    def is_traced(self) -> bool:
        return False


def argument_name(id: str) -> str:
    """Return what an argument of the program is called, by the id of the value that it is."""
    return id.removeprefix("in/") if id.startswith("in/") else f"host/{id}"


def _repeated(blank: np.ndarray, count: int) -> np.ndarray:
    # Without copies: images of many rows are large.
    return np.broadcast_to(blank, (count, *blank.shape))


def _next_of(values: Iterator[Any], value: Any) -> Any:
    del value
    return next(values)


def _id_of(value: Any) -> str:
    if not isinstance(value, RecordedValue):
        raise BadTypeError(
            "The function of tf.map_fn gives something that does not depend on its row. Expected: what functions of tf "
            f"make of the row. Received: {shown(value)}."
        )
    return value.id


def _has_known_sizes(value: RecordedValue) -> bool:
    return all(isinstance(size, int) or size == _BATCH for size in value.dims)


def _is_size(value: Any) -> bool:
    return is_symbolic_size(value) or has_symbolic_sizes(value)


def _is_choice_of_text(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether a call chooses among text, by what the program computes or is given."""
    leaves = list(leaves_in((args, dict(kwargs))))
    has_text = any(isinstance(each, str | bytes) or _is_of_objects(each) for each in leaves)
    return name == "where" and has_text and any(isinstance(each, jax.core.Tracer) for each in leaves)


def _is_text_by_sizes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a call lays out text that is known by sizes that are not, as those of classes for each example."""
    leaves = list(leaves_in((args, {key: each for key, each in kwargs.items() if key != "name"})))
    is_text = any(
        isinstance(each, str | bytes) or (_is_of_objects(each) and not _is_size(each)) for each in leaves
    )
    of_program = any(isinstance(each, jax.core.Tracer) for each in leaves)
    return name in _BY_SIZES and is_text and not of_program and any(map(_is_size, leaves))


def _is_of_objects(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "O"


def _array(value: Any) -> np.ndarray:
    made = as_array(value)
    return np.asarray(made, object if isinstance(made, bytes | str) else None)


def _element(array: np.ndarray) -> Any:
    return array[()] if array.dtype.hasobject and not array.ndim else array


# What functions give that do not take blank text: with new sizes, and their arguments.


class _NewSizes:
    """Sizes that are not known, by their numbers, in one of the two blank examples.

    Args:
        make: Gives one more, in both.
        made: Those that there are.
        which: The example.
    """

    def __init__(self, make: Callable[..., tuple[int, int]], made: list[tuple[int, int]], which: int) -> None:
        self._make = make
        self._made = made
        self._which = which

    def __getitem__(self, number: int) -> int:
        return self._of(number, are_small=False)

    def small(self, number: int) -> int:
        """Return one of something that is never large."""
        return self._of(number, are_small=True)

    def _of(self, number: int, *, are_small: bool) -> int:
        while number >= len(self._made):
            self._made.append(self._make(are_small=are_small and number == len(self._made)))
        return self._made[number][self._which]


def _decoded_image(
    sizes: _NewSizes, contents: Any, channels: int = 0, *args: Any, dtype: Any = np.uint8, **kwargs: Any
) -> Any:
    del contents, args, kwargs
    return np.zeros((sizes[0], sizes[1], channels or sizes.small(2)), getattr(dtype, "as_numpy_dtype", dtype))


def _decoded_any_image(
    sizes: _NewSizes,
    contents: Any,
    channels: int | None = None,
    dtype: Any = np.uint8,
    name: Any = None,
    expand_animations: bool = True,
) -> Any:
    if expand_animations:
        raise BadArgumentError(
            "The number of dimensions of an image is not known before it is decoded. Expected: "
            "tf.io.decode_image(contents, channels=3, expand_animations=False). Received: expand_animations=True."
        )
    del name
    return _decoded_image(sizes, contents, channels or 0, dtype=dtype)


def _cropped_image(
    sizes: _NewSizes, contents: Any, crop_window: Any, channels: int = 0, **kwargs: Any
) -> Any:
    del contents, crop_window, kwargs
    return np.zeros((sizes[0], sizes[1], channels or sizes.small(2)), np.uint8)


def _animation(sizes: _NewSizes, contents: Any, **kwargs: Any) -> Any:
    del contents, kwargs
    return np.zeros((sizes[0], sizes[1], sizes[2], 3), np.uint8)


def _boxed(
    sizes: _NewSizes, image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Any:
    del sizes, offset_height, offset_width
    image = np.asarray(image)
    # Whether the box fits is known when the export runs.
    shape = (*image.shape[:-3], int(target_height), int(target_width), image.shape[-1])
    return np.zeros(shape, image.dtype)


def _decoded_raw(sizes: _NewSizes, contents: Any, out_type: Any, *args: Any, **kwargs: Any) -> Any:
    del args, kwargs
    dtype = np.dtype(getattr(out_type, "as_numpy_dtype", out_type))
    return np.zeros((*np.shape(contents), sizes[0]), dtype)


def _same_text(sizes: _NewSizes, contents: Any, *args: Any, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    return _full(np.shape(contents), _BLANK)


def _truths(sizes: _NewSizes, contents: Any, *args: Any, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    return np.zeros(np.shape(contents), np.bool_)


def _ensured(sizes: _NewSizes, x: Any, shape: Any, **kwargs: Any) -> Any:
    del sizes, kwargs
    own = np.shape(x)
    if len(own) != len(shape):
        raise BadArgumentError(f"A value of {len(own)} dimensions is said to have the shape {shown(shape)}.")
    made = [have if size is None else int(size) for have, size in zip(own, shape, strict=True)]
    return _blank_array(tuple(made), np.asarray(x).dtype)


def _reshaped(sizes: _NewSizes, tensor: Any, shape: Any, **kwargs: Any) -> Any:
    del sizes, kwargs
    array = np.asarray(tensor, object if isinstance(tensor, bytes) else None)
    wanted = [int(size) for size in np.asarray(shape).reshape(-1)]
    try:
        return array.reshape(wanted)
    except ValueError:
        # Of bytes, whose number is not known: it is checked when the export runs. What is left belongs to the examples.
        rows = array.shape[0] if array.ndim else 1
        return _blank_array(tuple(rows if size == -1 else size for size in wanted), array.dtype)


def _part_of_text(sizes: _NewSizes, input: Any, pos: Any, *args: Any, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    # Blank text is short: whether a part is in it is known when the export runs.
    return _full(np.broadcast_shapes(np.shape(input), np.shape(pos)), _BLANK)


def _masked(sizes: _NewSizes, tensor: Any, mask: Any, axis: int | None = None, **kwargs: Any) -> Any:
    del kwargs
    tensor, first = np.asarray(tensor), axis or 0
    shape = (*tensor.shape[:first], sizes[0], *tensor.shape[first + np.ndim(mask) :])
    return _blank_array(shape, tensor.dtype)


def _unique(sizes: _NewSizes, x: Any, *args: Any, **kwargs: Any) -> Any:
    found = _host_functions.function_named("unique")(x, *args, **kwargs)
    return found._replace(y=_blank_array((sizes[0],), np.asarray(x).dtype))


def _divided_text(sizes: _NewSizes, input: Any, *args: Any, **kwargs: Any) -> Any:
    return _divided(sizes, input, np.dtype(object))


def _decoded_text(sizes: _NewSizes, input: Any, *args: Any, **kwargs: Any) -> Any:
    return _divided(sizes, input, np.dtype(np.int32))


def _divided(sizes: _NewSizes, text: Any, dtype: np.dtype) -> np.ndarray:
    if np.ndim(text):
        raise BadTypeError(
            "The host's part of an export has no RaggedTensors, which several strings become. Expected: one string, in "
            "tf.map_fn for instance, whose function gives something of a size that all have. Received: text of "
            f"{np.ndim(text)} dimensions."
        )
    return _blank_array((sizes[0],), dtype)


def _three_sizes(sizes: _NewSizes, *args: Any, **kwargs: Any) -> Any:
    del sizes, args, kwargs
    return np.ones(3, np.int32)


def _parsed(sizes: _NewSizes, serialized: Any, features: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
    del args, kwargs
    batch = np.shape(serialized)
    # Each feature has a length of its own, and a number of values.
    return {
        key: _parsed_feature(key, each, batch, sizes, 2 * index)
        for index, (key, each) in enumerate(features.items())
    }


def _parsed_feature(key: str, feature: Any, batch: tuple[int, ...], sizes: _NewSizes, first: int) -> Any:
    if isinstance(feature, FixedLenFeature):
        return _blank_array((*batch, *feature.shape), feature.dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        return _blank_array((*batch, sizes[first], *feature.shape), feature.dtype)
    if isinstance(feature, VarLenFeature):
        width = sizes[first]
        return _varying(batch, width, sizes[first + 1] if batch else width, feature.dtype)
    raise BadTypeError(
        "The host's part of an export parses FixedLenFeature, FixedLenSequenceFeature and VarLenFeature. Received: "
        f"{shown(feature)} for {shown(key)}."
    )


def _crossed(sizes: _NewSizes, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    del args, kwargs
    first = inputs[0]
    rows = int(first.dense_shape[0]) if isinstance(first, SparseTensor) else len(first)
    return _varying((rows,), sizes[0], sizes[1], np.int64)


def _varying(batch: tuple[int, ...], width: int, count: int, dtype: Any) -> SparseTensor:
    """Return a SparseTensor of so many values: the first row is full, and the others have more."""
    places = [divmod(place, width) for place in range(count)] if batch else [(each,) for each in range(count)]
    return SparseTensor(
        np.array(places, np.int64), _blank_array((count,), dtype), np.array([*batch, width], np.int64)
    )


def _blank_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    return _full(shape, _BLANK) if dtype.hasobject else np.zeros(shape, dtype)


def _full(shape: tuple[int, ...], value: bytes) -> np.ndarray:
    made = np.empty(shape, object)
    made[...] = value
    return made


_RULES: dict[str, Callable[..., Any]] = {
    "image.crop_to_bounding_box": _boxed,
    "image.pad_to_bounding_box": _boxed,
    "io.decode_jpeg": _decoded_image,
    "io.decode_png": _decoded_image,
    "io.decode_bmp": _decoded_image,
    "io.decode_gif": _animation,
    "io.decode_image": _decoded_any_image,
    "io.decode_and_crop_jpeg": _cropped_image,
    "io.decode_raw": _decoded_raw,
    "io.decode_base64": _same_text,
    "io.decode_compressed": _same_text,
    "io.extract_jpeg_shape": _three_sizes,
    "io.is_jpeg": _truths,
    "boolean_mask": _masked,
    "strings.bytes_split": _divided_text,
    "strings.split": _divided_text,
    "strings.substr": _part_of_text,
    "strings.unicode_decode": _decoded_text,
    "strings.unicode_split": _divided_text,
    "unique": _unique,
    "ensure_shape": _ensured,
    "reshape": _reshaped,
    "io.parse_example": _parsed,
    "sparse.cross_hashed": _crossed,
    "io.parse_single_example": _parsed,
}
