"""The recorder of what a function does with values of the host while it is exported (export layer).

Text, images whose sizes differ and SparseTensors are :class:`RecordedValue`s. A call of a function of `tf` with such
becomes a call of the plan; what it gives is found by calling the function on two blank examples, whose unknown sizes
differ. An array of numbers whose sizes are known, but for the number of examples, becomes an argument of the program.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax import export

from stratax.base.recording import NOT_RECORDED, RECORDER, recording_with
from stratax.base.shown import shown
from stratax.base.tracing import as_numbers, has_symbolic_sizes, is_symbolic_size
from stratax.data import SparseTensor
from stratax.data.elements import as_array
from stratax.data.vectorise import on_host
from stratax.errors import BadArgumentError, BadTypeError, TracingError
from stratax.export.parts import STRING, TensorInfo, leaves_in
from stratax.tensorflow.exports import _host_functions
from stratax.tensorflow.exports._blank_rules import BLANK, RULES, NewSizes
from stratax.tensorflow.exports._blank_sizes import BATCH, BlankSizes
from stratax.tensorflow.exports._host_plan import GET_ITEM, MAP, Call, CallPlan, RuntimeValue, replace_leaves
from stratax.tensorflow.exports._host_value import RecordedValue
from stratax.tensorflow.exports._program_arguments import HostArguments, NoArguments
from stratax.tensorflow.exports._recorded_calls import RecordedCalls
from stratax.tensorflow.exports._signature_inputs import SignatureInputs
from stratax.tensorflow.ops.calls import labels

_KEPT_RANK = 1
_OF_SIZES = ("shape", "size", "rank")
_BY_SIZES = ("broadcast_to", "fill", "repeat", "reshape", "tile")


class HostRecorder:
    """Records what a function does with values of the host.

    Args:
        arguments: Of the program that is being traced.
        prefix: What ids of values begin with.
        sizes: Of the blank examples, if others have some already.

    Attributes:
        arguments: Of the program.
        sizes: Of the blank examples.
        inputs: Of the signature.
        calls: What the host computes.
    """

    def __init__(
        self, arguments: HostArguments, *, prefix: str = "", sizes: BlankSizes | None = None
    ) -> None:
        self.arguments = arguments
        self.sizes = sizes or BlankSizes(prefix)
        self.inputs = SignatureInputs(arguments)
        self.calls = RecordedCalls(self.inputs, prefix)
        self._stays = False
        self._latest: tuple[str, tuple[Any, ...], dict[str, Any]] | None = None

    # Keras' layers and operations compute in the program.
    phase = None

    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return `NOT_RECORDED`: layers compute with the program's arrays."""
        return NOT_RECORDED

    def input(self, name: str, info: TensorInfo) -> Any:
        """Return what stands for an input.

        Args:
            name: Its name.
            info: What it is.
        """
        dims = self.inputs.sizes_of(name, info)
        if info.dtype != STRING:
            made: Any = self.arguments.of(f"in/{name}", dims, info.numpy_dtype)
        else:
            sizes = [self.sizes.pair_of(each) for each in dims]
            first, second = (np.full([pair[which] for pair in sizes], BLANK, object) for which in (0, 1))
            made = self._value(f"in/{name}", (first, second))
        self.inputs.note_made(made, name)
        self.calls.note(f"in/{name}", info)
        return made

    def shape_of(self, value: object) -> tuple[Any, ...]:
        """Return the sizes of a feature as the program has them: numbers, and symbols for those that are not known."""
        if isinstance(value, RecordedValue):
            return self.arguments.symbolic(value.dims)
        # Of a sparse one the host knows them, when the export runs.
        if isinstance(value, SparseTensor):
            return ()
        return tuple(getattr(value, "shape", None) or ())

    def placeholder(self, dtype: Any, shape: Any, name: str | None) -> Any:
        """Return what stands for an input that `tf.placeholder` makes.

        Args:
            dtype: Its dtype.
            shape: Its sizes, of which some may be None; None for one dimension of text.
            name: Its name.

        Raises:
            BadArgumentError: Not even the number of dimensions is known, of numbers.
        """
        unique = self.inputs.free_name((name or "Placeholder").replace("/", "_"))
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

    def constant(self, value: object) -> RecordedValue:
        """Return text as a value of the host."""
        made = _array(value)
        id = self.calls.new_id()
        self.calls.before.append(Call("convert_to_tensor", (made,), {}, RuntimeValue(id)))
        return self._value(id, (made, made))

    def _value(
        self, id: str, blanks: tuple[np.ndarray, np.ndarray], *, is_late: bool = False
    ) -> RecordedValue:
        made = RecordedValue(self, id, blanks, is_late=is_late)
        self.calls.note(id, made.info)
        return made

    # Blank examples.

    @staticmethod
    def is_value(value: object) -> bool:
        """Return whether something stands for a value of the host, or is a SparseTensor."""
        return isinstance(value, RecordedValue | SparseTensor)

    def blank(self, value: object) -> Any:
        """Return a value of the host, or an array of the program, as the first blank example has it.

        Args:
            value: It, or a SparseTensor of such, of which each row gets one value: crosses of wide ones are too many.
        """
        if isinstance(value, SparseTensor):
            parts = map(self.blank, value.parts)
            return self._narrow(*parts) if isinstance(value.values, RecordedValue) else SparseTensor(*parts)
        if isinstance(value, RecordedValue):
            return value.blanks[0]
        return self.sizes.array(value, 0) if isinstance(value, jax.core.Tracer) else value

    @staticmethod
    def _narrow(indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray) -> SparseTensor:
        rank = len(dense_shape)
        rows = min(int(dense_shape[0]), len(values)) if rank > 1 else 1
        places = np.zeros((rows, rank), np.int64)
        places[:, 0] = np.arange(rows)
        return SparseTensor(places, values[:rows], np.array([rows, *[1] * (rank - 1)], np.int64))

    # Calls.

    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result: see `stratax.base.recording.Recorder`."""
        name = _host_functions.name_of(function)
        if self._stays:
            args, kwargs = replace_leaves((args, kwargs), self._on_host)
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
            given = replace_leaves(
                (args, kwargs), lambda each: self.argument(each) if isinstance(each, RecordedValue) else each
            )
            return function(*given[0], **given[1])
        if name == MAP:
            return self._record_map(*args, **kwargs)
        if name in _OF_SIZES and self.arguments.is_traced and not self._stays and _has_known_sizes(hosts[0]):
            # As of an array of the program.
            blank = self._make_sized(hosts[0])
            return function(*(blank if each is hosts[0] else each for each in args), **kwargs)
        return self.record(name, args, kwargs)

    def _make_sized(self, value: RecordedValue) -> Any:
        """Return an array of the program that has the sizes of a value, whose sizes are known or the batch."""
        if BATCH not in value.dims or self.arguments.has_batch:
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
        args, kwargs = replace_leaves((args, kwargs), self._on_host)
        kwargs = {key: each for key, each in kwargs.items() if key != "name"}
        leaves = list(leaves_in((args, kwargs)))
        is_late = any(
            isinstance(each, jax.core.Tracer) or _is_size(each) or getattr(each, "is_late", False)
            for each in leaves
        )
        own_args, own_kwargs = replace_leaves((args, kwargs), self._as_ref)
        blanks = self._blank_results(name, args, kwargs)
        return self._note(name, own_args, own_kwargs, blanks, is_late=is_late)

    def _note(
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
        number = self.calls.new_id()
        parts = itertools.count()

        def stand_in(first: object) -> RecordedValue:
            part = next(parts)
            id = number if not part else f"{number}.{part}"
            return self._value(id, (_array(first), _array(next(second))), is_late=is_late)

        values = replace_leaves(blanks[0], stand_in)
        gives = replace_leaves(values, lambda each: RuntimeValue(each.id))
        (self.calls.after if is_late else self.calls.before).append(Call(name, args, kwargs, gives, body))
        return values if is_late else replace_leaves(values, self._in_program)

    def _in_program(self, value: RecordedValue) -> Any:
        """Return an array of the program in place of a value of numbers whose sizes are known.

        Small ones of whole numbers or truths, such as the sizes of an image, stay on the host, where functions ask for
        them.
        """
        is_small = value.dtype.kind in "iub" and value.ndim <= _KEPT_RANK and BATCH not in value.dims
        is_wanted = self.arguments.is_traced and not self._stays and self._is_argument(value) and not is_small
        return self.argument(value) if is_wanted else value

    def _is_argument(self, value: RecordedValue) -> bool:
        """Return whether the program may take a value: of numbers, as many as it knows or as an input has.

        An image's size is none of these: what makes it a known one is better done by the host.
        """
        return value.dtype.kind in "biuf" and all(
            isinstance(size, int) or (not axis and size == BATCH) or self.inputs.has_size(size)
            for axis, size in enumerate(value.dims)
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

    def _on_host(self, value: object) -> Any:
        """Return an argument of the program as the value that the host gives it; other values as they are."""
        id = self.arguments.id_of(value)
        if id is None:
            return value
        return RecordedValue(self, id, (self.sizes.array(value, 0), self.sizes.array(value, 1)))

    def _as_ref(self, value: object) -> Any:
        if isinstance(value, RecordedValue):
            return RuntimeValue(value.id)
        if isinstance(value, jax.core.Tracer) or _is_size(value):
            return RuntimeValue(self.calls.result_id(as_numbers(value)))
        return value

    def _blank_results(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Return what a function gives for the two blank examples."""
        new: list[tuple[int, int]] = []

        def result(which: int) -> Any:
            def blank(value: object) -> Any:
                if isinstance(value, RecordedValue):
                    return _element(value.blanks[which])
                if _is_size(value):
                    return self.sizes.size(value, which)
                return self.sizes.array(value, which) if isinstance(value, jax.core.Tracer) else value

            given, named = replace_leaves((args, kwargs), blank)
            if name in RULES:
                return RULES[name](NewSizes(self.sizes.new, new, which), *given, **named)
            if name == GET_ITEM:
                return given[0][given[1]]
            return _host_functions.function_named(name)(*given, **named)

        with recording_with(None), on_host(), np.errstate(all="ignore"):
            return result(0), result(1)

    # Text of what the program computes.

    @property
    def lookup(self) -> labels.Lookup:
        """What stands for text that is looked up by results of the program."""
        return lambda function, indices: self.applied(function, [indices], "gather", object)

    @property
    def apply(self) -> labels.Apply:
        """What stands for a function of text that is called with results of the program."""
        return self.applied

    def applied(self, function: Callable[..., Any], operands: Sequence[Any], name: str, gives: object) -> Any:
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

    def _record_map(self, fn: Callable[..., Any], elems: object, *args: object, **kwargs: object) -> Any:
        """Record `tf.map_fn`: what its function does with a row is a plan of its own."""
        leaves = list(leaves_in(elems))
        if not leaves or not all(isinstance(each, RecordedValue) and each.ndim for each in leaves):
            raise BadTypeError(
                "tf.map_fn over values of an export's host takes these only. Expected: text, or images. Received: "
                f"{', '.join(map(shown, leaves))}."
            )
        prefix = f"{self.calls.new_id()}/"
        inner = HostRecorder(NoArguments(), prefix=prefix, sizes=self.sizes.of_rows(prefix))
        rows: list[str] = []

        def row(value: RecordedValue) -> RecordedValue:
            blanks = (_array(value.blanks[0][0]), _array(value.blanks[1][0]))
            rows.append(f"{prefix}row{len(rows)}")
            return RecordedValue(inner, rows[-1], blanks)

        with recording_with(inner):
            made = fn(replace_leaves(elems, row))
        results = list(leaves_in(made))
        gives = {f"{index}": _id_of(each) for index, each in enumerate(results)}
        infos = {f"{index}": each.info for index, each in enumerate(results)}
        body = CallPlan(tuple(inner.calls.before), gives, infos)
        first_dim = leaves[0].dims[0]
        blanks = []
        for which, count in enumerate(self.sizes.pair_of(first_dim)):
            arrays = iter([_repeat(each.blanks[which], count) for each in results])
            blanks.append(replace_leaves(made, functools.partial(_next_of, arrays)))
        own = replace_leaves(elems, self._as_ref)
        return self._note(MAP, (own,), {"rows": rows}, (blanks[0], blanks[1]), is_late=False, body=body)


def blank_trace(function: Callable[[HostRecorder], Any]) -> None:
    """Call a function with a recorder, and while that stands on the thread, in a trace that is for nothing else.

    Args:
        function: It may make placeholders, and look at what is made of them.
    """

    def body(token: object) -> Any:
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


def _repeat(blank: np.ndarray, count: int) -> np.ndarray:
    # Without copies: images of many rows are large.
    return np.broadcast_to(blank, (count, *blank.shape))


def _next_of(values: Iterator[Any], value: object) -> Any:
    del value
    return next(values)


def _id_of(value: object) -> str:
    if not isinstance(value, RecordedValue):
        raise BadTypeError(
            "The function of tf.map_fn gives something that does not depend on its row. Expected: what functions of tf "
            f"make of the row. Received: {shown(value)}."
        )
    return value.id


def _has_known_sizes(value: RecordedValue) -> bool:
    return all(isinstance(size, int) or size == BATCH for size in value.dims)


def _is_size(value: object) -> bool:
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


def _is_of_objects(value: object) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "O"


def _array(value: object) -> np.ndarray:
    made = as_array(value)
    return np.asarray(made, object if isinstance(made, bytes | str) else None)


def _element(array: np.ndarray) -> Any:
    return array[()] if array.dtype.hasobject and not array.ndim else array
