"""Text in models: inputs of text, and text of what a compiled step computes (keras2 layer).

A step has numbers only. While a model is traced, text of its batch is a :class:`BatchText`, and what its layers make of
it is noted in a :class:`TextPlan`, which the host computes of each batch, ahead of its step, in the input's threads.
Text that is made of what the step itself computes is a :class:`LayerText`: the host makes it when the step has come to
where it is a number again.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.base.tracing import is_symbolic_size
from stratax.base.typing import Array, DTypeLike, PyTree, TensorLike
from stratax.core import host
from stratax.data.elements import DType, TensorShape
from stratax.errors import BadTypeError, TracingError
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2._shapes import of_both
from stratax.tensorflow.ops.calls import labels
from stratax.tensorflow.ops.calls.kept import Kept
from stratax.tensorflow.ops.calls.on_host import array_of, as_result
from stratax.tensorflow.ops.calls.text import as_text, holds_text
from stratax.tensorflow.ops.tables.numeric_tables import fitting

_FUNCTIONAL = "keras.src.models.functional:Functional"
_TEXT = "string"
# As the values of text tensors say it.
TEXT = DType(np.dtype(object))
# What stands for a text while nothing is known of it: many functions take the first, some the second alone.
_BLANKS = (b"0", b"")
# Sizes that are not known, in two trials: what differs between them is not known either.
_TRIALS = tuple(zip((11, 17, 23, 31, 41, 47), (13, 19, 29, 37, 43, 53), strict=True))
_OF_32_BITS = {"int64": "int32", "uint64": "uint32", "float64": "float32"}
# How wide rows are in trials whose width depends on the data.
_WIDTHS = (7, 9)

# What a result depends on: a feature by its place, another result by its key, or a value.
Ref = tuple[str, Any]


class TextPlan:
    """What the host computes of a batch before a model's step; it can be pickled.

    Attributes:
        has_widths: Whether the widths of results depend on the data.
    """

    def __init__(self) -> None:
        # By key: a function, and what it takes.
        self._calls: dict[str, tuple[Callable[..., Any], list[Ref]]] = {}
        # By key: the dtype that the step takes, and what rows are filled up with.
        self._wanted: dict[str, tuple[np.dtype, float | None]] = {}
        self.has_widths = False

    def note(self, key: str, function: Callable[..., Any], refs: list[Ref]) -> None:
        """Have a function be called."""
        self._calls.setdefault(key, (function, refs))

    def want(self, key: str, dtype: np.dtype, fill: float | None) -> None:
        """Have its result be an input of the step."""
        self._wanted.setdefault(key, (dtype, fill))
        self.has_widths = self.has_widths or fill is not None

    def __contains__(self, key: str) -> bool:
        return key in self._calls

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def values_of(self, ref: Ref) -> list[Any]:
        """Return what keeps the values of something for a step."""
        return [
            function.args[0]
            for function, refs in self._calls.values()
            if refs == [ref] and isinstance(function, functools.partial) and function.func is _put
        ]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of what the step takes."""
        return tuple(self._wanted)

    def fill(self, key: str) -> float | None:
        """Return what the rows of a result are filled up with; None where its shape is always the same."""
        return self._wanted[key][1]

    def compute(self, features: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the step takes, by key.

        Args:
            features: The arrays of a batch, in the order of their places.
        """
        known: dict[str, Any] = {}

        def value_of(ref: Ref) -> Any:
            kind, which = ref
            if kind == "value":
                return which
            if kind == "feature":
                array = features[which]
                return as_text("x", array) if array.dtype.kind in "OSU" else array
            if which not in known:
                function, refs = self._calls[which]
                known[which] = np.asarray(function(*map(value_of, refs)))
            return known[which]

        return {key: fitting(value_of(("call", key)), dtype) for key, (dtype, _) in self._wanted.items()}


class TextTrace:
    """One trace of a model: with stand-ins for text, and with what the host has computed in a step.

    Args:
        plan: What is computed ahead; None where that is not wanted.
        given: What was, by key; None to find out what to compute.
        width: How wide rows are whose width is not known.
    """

    def __init__(
        self, plan: TextPlan | None = None, given: dict[str, Any] | None = None, width: int = _WIDTHS[0]
    ) -> None:
        self.plan = TextPlan() if plan is None else plan
        self.given = given
        self.has_widths = False
        self._width = width
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, tuple[Any, tuple[int, int]]] = {}

    def feature(self, place: int, shape: Sequence[Any]) -> "BatchText":
        """Return what stands for a feature of text.

        Args:
            place: Which.
            shape: Its sizes: numbers, or JAX' symbols.
        """
        pairs = list(map(self._pair_of, shape))
        blanks = [np.full([pair[trial] for pair in pairs], _BLANKS[0], object) for trial in (0, 1)]
        return BatchText(self, ("feature", place), shape, blanks)

    def note_number(self, place: int, array: Array) -> None:
        """Have functions of the host find a feature of numbers, which is an array of the step."""
        self._numbers[id(array)] = (array, place)

    def _pair_of(self, size: Any) -> tuple[int, int]:
        if not is_symbolic_size(size):
            return int(size), int(size)
        known = self._sizes.setdefault(str(size), (size, _TRIALS[len(self._sizes) % len(_TRIALS)]))
        return known[1]

    def _size_of(self, name: str, pair: tuple[int, int]) -> Any:
        if pair[0] == pair[1]:
            return pair[0]
        for size, own in self._sizes.values():
            if own == pair:
                return size
            if pair[0] % own[0] == 0 and pair[0] // own[0] == pair[1] / own[1]:
                return size * (pair[0] // own[0])
        raise TracingError(
            f"The sizes of what {name} makes of text follow from its values, which a step does not know. Expected: an "
            "array of known sizes for each batch. Received: sizes that differ. Call it in dataset.map."
        )

    def refs(self, operands: Sequence[Any]) -> list[Ref] | None:
        """Return what operands depend on; None where one is computed in the step."""
        refs: list[Ref] = []
        for each in operands:
            if isinstance(each, BatchText):
                refs.append(each.ref)
            elif isinstance(each, LayerText):
                return None
            elif isinstance(each, jax.core.Tracer):
                if id(each) not in self._numbers:
                    return None
                refs.append(("feature", self._numbers[id(each)][1]))
            else:
                refs.append(("value", array_of(each)))
        return refs

    def _key_of(self, name: str, refs: list[Ref]) -> str:
        parts = ",".join(str(which) if kind != "value" else "-" for kind, which in refs)
        base = f"{name}({parts})"
        count = self._counts[base] = self._counts.get(base, -1) + 1
        if self.given is not None and f"{base}#{count}" not in self.plan:
            # A model that is called again in a step computes the same again.
            known = next((number for number in range(count) if f"{base}#{number}" not in self.plan), count)
            count = count % known if known else count
        return f"{base}#{count}"

    def call(
        self,
        function: Callable[..., Any],
        refs: list[Ref],
        operands: Sequence[Any],
        name: str,
        dtype: DTypeLike | None,
        shape: Sequence[Any] | None,
        fill: float | None = None,
    ) -> Any:
        """Return what stands for what a function makes of features, in the trace.

        Args:
            function: From NumPy arrays to one.
            refs: What the operands depend on.
            operands: The operands.
            name: What the function is called.
            dtype: Of the result; None to find out.
            shape: Of the result, with None for a width that depends on the data; None to find out.
            fill: What rows of such a width are filled up with.
        """
        key = self._key_of(name, refs)
        blanks: list[Any] = []
        if dtype is None or shape is None:
            blanks = self._try(function, operands, name)
            dtype, shape = self._kind_of_blanks(blanks, name)
        if self.given is None:
            self.plan.note(key, function, refs)
        elif key not in self.plan:
            raise TracingError(
                f"A step computes {name} of text that the model did not compute when it was looked at. Expected: text "
                "that the model's call takes, and makes numbers of. Call it in dataset.map, or in the model's call."
            )
        if np.dtype(dtype).hasobject:
            return BatchText(self, ("call", key), shape, blanks)
        kind = jax.dtypes.canonicalize_dtype(np.dtype(dtype))
        if self.given is None:
            self.plan.want(key, kind, fill if None in shape else None)
            self.has_widths = self.has_widths or None in shape
            made = jnp.zeros([self._width if size is None else size for size in shape], kind)
            return made
        return self.given[key]

    def keep(self, text: "BatchText") -> "LayerText":
        """Return text that the step can ask the host for, when it has come so far."""
        kept = Kept("text")
        rows = self.call(
            functools.partial(_put, kept), [text.ref], [text], "kept", np.int32, (text.shape[0],)
        )
        # In a step the values are those of when the model was looked at.
        kept = next((each for each in self.plan.values_of(text.ref) if isinstance(each, Kept)), kept)
        return LayerText(kept.take, [rows], text.shape)

    def kind_of(self, function: Callable[..., Any], operands: Sequence[Any], name: str) -> tuple[Any, Any]:
        """Return the dtype and shape of what a function makes of operands."""
        return self._kind_of_blanks(self._try(function, operands, name), name)

    def _kind_of_blanks(self, blanks: list[np.ndarray], name: str) -> tuple[Any, Any]:
        pairs = zip(*(blank.shape for blank in blanks), strict=True)
        return blanks[0].dtype, [self._size_of(name, pair) for pair in pairs]

    def _try(self, function: Callable[..., Any], operands: Sequence[Any], name: str) -> list[np.ndarray]:
        """Return what a function makes of blank texts, in both trials."""

        def blank_of(each: TensorLike, trial: int, blank: bytes) -> Any:
            if isinstance(each, BatchText):
                made = (
                    each.blanks[trial]
                    if each.blanks
                    else np.full(self._trial_shape(each.shape, trial), blank, object)
                )
                return made if blank == _BLANKS[0] else np.full(made.shape, blank, object)
            if isinstance(each, LayerText):
                return each.function(*(blank_of(number, trial, blank) for number in each.numbers))
            if isinstance(each, jax.core.Tracer):
                return np.zeros(self._trial_shape(each.shape, trial), each.dtype)
            return array_of(each)

        for blank in _BLANKS:
            try:
                return [
                    np.asarray(function(*(blank_of(each, trial, blank) for each in operands)))
                    for trial in (0, 1)
                ]
            except Exception as error:
                failure = error
        raise TracingError(
            f"{name} could not be tried on blank text, so the shape of its result is not known. It raised: {failure}. "
            "Call it in dataset.map."
        ) from failure

    def _trial_shape(self, shape: Sequence[Any], trial: int) -> list[int]:
        return [self._pair_of(size)[trial] for size in shape]

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Have functions of text be noted, or find their results, in a block."""
        with _TRACE.holding(self), labels.look_up_by(_look_up, apply):
            yield


def _look_up(function: Callable[..., Any], indices: TensorLike) -> Any:
    return apply(function, [indices], "gather", object)


# Stands on a thread that traces a model.
_TRACE: Slot[TextTrace | None] = Slot("text of a batch", None)
# Takes the plan of what is traced next.
_COLLECTED: Slot[list[TextPlan] | None] = Slot("plans of text", None)


def _no_plan() -> TextPlan | None:
    return None


class _Symbol(labels.TextSymbol):
    """Text that has no value yet."""

    shape: Any
    dtype = TEXT
    # For compiled functions whose signature has text.
    stands_for_text = True

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    def get_shape(self) -> TensorShape:
        """Return its shape, as tensors of TensorFlow do."""
        return TensorShape([None if is_symbolic_size(size) else size for size in self.shape])

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others."""
        return apply(function, operands, name)

    def __eq__(self, other: object) -> Any:
        return apply(np.equal, [self, as_text("y", other) if holds_text(other) else other], "equal")

    def __ne__(self, other: object) -> Any:
        return apply(np.not_equal, [self, as_text("y", other) if holds_text(other) else other], "not_equal")

    def __add__(self, other: object) -> Any:
        return apply(np.add, [self, as_text("y", other) if holds_text(other) else other], "add")

    def __radd__(self, other: object) -> Any:
        return apply(np.add, [as_text("y", other) if holds_text(other) else other, self], "add")

    def __getitem__(self, key: object) -> Any:
        return apply(functools.partial(_part, key), [self], f"[{key}]")

    __hash__ = object.__hash__

    def __jax_array__(self) -> NoReturn:
        raise BadTypeError(
            "Text in a layer becomes a number before the layer returns it. Expected: tf.strings.to_hash_bucket_fast, "
            f"a table of tf.lookup, or a comparison. Received: text of shape {tuple(self.shape)}."
        )


def _put(kept: Kept, texts: np.ndarray) -> np.ndarray:
    return kept.put({"text": texts})["rows"]


def _part(key: Any, texts: np.ndarray) -> np.ndarray:
    return np.asarray(texts[key], object)


class BatchText(_Symbol):
    """Text of a batch, or what is made of it, while a model is traced.

    Args:
        trace: The trace.
        ref: What it depends on.
        shape: Its sizes: numbers, or JAX' symbols.
        blanks: What stands for it in two trials; empty for blank texts.
    """

    def __init__(self, trace: TextTrace, ref: Ref, shape: Sequence[Any], blanks: list[np.ndarray]) -> None:
        self.trace, self.ref, self.shape, self.blanks = trace, ref, tuple(shape), blanks

    def __repr__(self) -> str:
        return f"<text of a batch, shape={self.shape}>"


class LayerText(_Symbol):
    """Text that the host makes of numbers of a compiled step, once it is a number again.

    Args:
        function: From NumPy arrays of the numbers to text.
        numbers: Arrays of the step.
        shape: The text's shape.
    """

    def __init__(
        self, function: Callable[..., np.ndarray], numbers: Sequence[Any], shape: Sequence[int]
    ) -> None:
        self.function = function
        self.numbers = tuple(numbers)
        self.shape = TensorShape(shape)


def install() -> None:
    """Put text in models in place; safe to call again."""
    seam.widen(f"{_FUNCTIONAL}._convert_inputs_to_tensors", _with_text)
    seam.widen("keras.src.layers.layer:is_backend_tensor_or_symbolic", _or_text)
    seam.widen("keras:DTypePolicy.convert_input", _leaving_text)
    seam.widen("keras.src.backend:compute_output_spec", _with_specs_of_text)
    seam.widen("keras:Layer.compute_output_spec", _of_text_itself)


def with_text(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have text of a layer's call be made of numbers, in the outermost call of those that are inside of one another."""

    @functools.wraps(call)
    def method(self: object, *args: object, **kwargs: object) -> Any:
        if labels.applier() is not None:
            return call(self, *args, **kwargs)
        with labels.look_up_by(labels.lookup(), apply):  # type: ignore[arg-type]
            return call(self, *args, **kwargs)

    return method


def apply(
    function: Callable[..., Any], operands: Sequence[Any], name: str, gives: DTypeLike | None = None
) -> Any:
    """Return what a function of text makes of operands of which some are known when a step runs only.

    Args:
        function: From NumPy arrays to one.
        operands: Texts of a step, arrays that it computes, and values.
        name: What the function is called.
        gives: The dtype of the result; None to find out.
    """
    # A function that says its dtype gives a value for each element.
    shape = None if gives is None else jnp.broadcast_shapes(*map(_shape_of, operands))
    return compute(function, operands, name=name, dtype=gives, shape=shape)


def compute(
    function: Callable[..., Any],
    operands: Sequence[Any],
    *,
    name: str,
    dtype: DTypeLike | None,
    shape: Sequence[Any] | None,
    fill: float | None = None,
) -> Any:
    """Return what a function of the host makes of operands of which some are known when a step runs only.

    What depends on the batch alone is computed ahead of the step; all else when the step has come to it.

    Args:
        function: From NumPy arrays to one.
        operands: Texts of a step, arrays that it computes, and values.
        name: What the function is called.
        dtype: Of the result; None to find out.
        shape: Of the result, with None for a width that depends on the data; None to find out.
        fill: What rows of such a width are filled up with.
    """
    trace = next((each.trace for each in operands if isinstance(each, BatchText)), _TRACE.get())
    refs = None if trace is None else trace.refs(operands)
    if trace is not None and refs is not None and any(kind != "value" for kind, _ in refs):
        return trace.call(function, refs, operands, name, dtype, shape, fill)
    if trace is not None and any(isinstance(each, BatchText) for each in operands):
        if dtype is None or shape is None:
            dtype, shape = trace.kind_of(function, operands, name)
        # Beside what the step computes, so that the host has to keep the text until then.
        operands = [trace.keep(each) if isinstance(each, BatchText) else each for each in operands]
    return _in_step(function, operands, dtype, shape)


def _in_step(
    function: Callable[..., Any], operands: Sequence[Any], gives: DTypeLike | None, shape: Any
) -> Any:
    """Return what a function makes of what a step computes, whenever the step has come there."""
    parts = [_part_of(each) for each in operands]
    numbers = [number for _, own in parts for number in own]

    def compute_parts(*arrays: np.ndarray) -> np.ndarray:
        given = iter(arrays)
        values = [make(*(next(given) for _ in own)) for make, own in parts]
        return np.asarray(function(*values))

    if not any(isinstance(each, jax.core.Tracer) for each in numbers):
        return as_result(compute_parts(*map(np.asarray, numbers)))
    if gives is None or shape is None:
        blank = compute_parts(*(np.zeros(each.shape, each.dtype) for each in numbers))
        gives, shape = blank.dtype, blank.shape
    if np.dtype(gives).hasobject:
        return LayerText(compute_parts, numbers, shape)
    kind = jax.ShapeDtypeStruct(tuple(shape), jax.dtypes.canonicalize_dtype(np.dtype(gives)))
    made = host.call_on_host(
        lambda *arrays: [fitting(compute_parts(*arrays), kind.dtype)],
        [jax.lax.stop_gradient(jnp.asarray(each)) for each in numbers],
        [kind],
    )
    return made[0]


def _part_of(value: TensorLike) -> tuple[Callable[..., np.ndarray], Sequence[Any]]:
    """Return how an operand's value is made of numbers of the step, and these."""
    if isinstance(value, LayerText):
        return value.function, value.numbers
    if isinstance(value, jax.core.Tracer):
        return lambda array: array, [value]
    array = array_of(value)
    return lambda: array, []


def _shape_of(value: TensorLike) -> tuple[Any, ...]:
    return tuple(value.shape) if hasattr(value, "shape") else array_of(value).shape


# What Keras does with text among the inputs of layers.


def _is_text(value: object) -> bool:
    """Return whether something is text: an array of it, or what stands for one."""
    if not isinstance(value, labels.TextSymbol | np.ndarray | np.generic):
        return False
    dtype = value.dtype  # type: ignore[union-attr]
    # What an export knows on the host may be numbers.
    return np.dtype(getattr(dtype, "as_numpy_dtype", dtype)).kind in "OSU"


def _or_text(original: Callable[..., bool]) -> Callable[..., bool]:
    """Have text be a tensor, which layers take, and arrays of the host that a layer leaves as they are."""

    @functools.wraps(original)
    def is_backend_tensor_or_symbolic(x: TensorLike, allow_none: bool | None = None) -> bool:
        # Where Keras says False, it goes on with the dtype of an array of JAX.
        return original(x, allow_none=bool(allow_none)) or (
            allow_none is not False and (_is_text(x) or isinstance(x, np.ndarray))
        )

    return is_backend_tensor_or_symbolic


def _leaving_text(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have text stay as it is, of which Keras would make an array of JAX."""

    @functools.wraps(original)
    def convert_input(self: object, x: TensorLike, *args: object, **kwargs: object) -> Any:
        return _as_tensor(x) if _is_text(x) else original(self, x, *args, **kwargs)

    return convert_input


def _as_tensor(value: TensorLike) -> Any:
    """Return text as a tensor on the host."""
    return value if isinstance(value, labels.TextSymbol) else as_result(as_text("x", value))


def _with_text(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have inputs of text stay on the host, in the rank that the model has."""

    @functools.wraps(original)
    def convert(self: Any, flat_inputs: Sequence[Any]) -> Any:
        own = self._inputs
        is_text = [_is_text(each) or holds_text(each) for each in flat_inputs]
        for each, value, text in zip(own, flat_inputs, is_text, strict=True):
            if value is not None and text != _is_symbolic_text(each):
                _refuse_kind(each, value, is_text=text)
        if any(value is None for value in flat_inputs):
            return original(self, flat_inputs)
        return [
            _of_rank(_as_tensor(value), each) if _is_symbolic_text(each) else _as_number_of(each, value)
            for value, each in zip(flat_inputs, own, strict=True)
        ]

    return convert


def _as_number_of(own: Any, value: TensorLike) -> Any:
    """Return an input of numbers as an array of JAX; one of the step stays that, as which the host knows it."""
    # Without JAX' warning that it has no int64 by default.
    kind = own.dtype if jax.config.jax_enable_x64 else _OF_32_BITS.get(own.dtype, own.dtype)  # type: ignore[attr-defined]
    if isinstance(value, jax.Array) and value.dtype == kind and not own.sparse:
        return value
    return keras.ops.convert_to_tensor(value, dtype=kind, sparse=own.sparse)


def _refuse_kind(own: Any, value: TensorLike, *, is_text: bool) -> NoReturn:
    wanted = "numbers" if is_text else "text"
    how = "tf.strings.to_number" if is_text else "tf.strings.as_string"
    made = "keras.Input(shape, dtype='string')" if is_text else "keras.Input(shape)"
    raise BadTypeError(
        f"Input {shown(own.name)} of a model takes {wanted}. Expected: dtype={shown(own.dtype)}. Received: "
        f"{shown(value)}. Convert it, with {how} for instance, or make the input with {made}."
    )


def _is_symbolic_text(tensor: object) -> bool:
    return isinstance(tensor, keras.KerasTensor) and tensor.dtype == _TEXT


def _of_rank(text: Array, own: Any) -> Any:
    """Return text with as many dimensions as a model's input has, as Keras does for numbers."""
    more = len(own.shape) - len(text.shape)
    if more == 1 and own.shape[-1] == 1:
        return _rearrange(functools.partial(np.expand_dims, axis=-1), text, "expand_dims")
    if more == -1 and text.shape[-1] == 1:
        return _rearrange(functools.partial(np.squeeze, axis=-1), text, "squeeze")
    return text


def _rearrange(function: Callable[..., Any], text: Array, name: str) -> Any:
    if isinstance(text, labels.TextSymbol):
        return text.apply(name, function, [text])
    return as_result(function(np.asarray(text)))


# What layers make of symbolic tensors.


def _with_specs_of_text(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have Keras find out what layers make of symbolic text, and whether they give text."""

    @functools.wraps(original)
    def compute_output_spec(fn: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        plans, _ = _COLLECTED.get(), _COLLECTED.set(None)
        try:
            spec, plan = _spec(original, fn, args, kwargs, _no_plan if plans is None else TextPlan)
        finally:
            _COLLECTED.set(plans)
        if plans is not None and plan is not None:
            plans.append(plan)
        return spec

    return compute_output_spec


def _spec(
    original: Callable[..., Any],
    fn: Callable[..., Any],
    args: PyTree,
    kwargs: PyTree,
    make_plan: Callable[[], TextPlan | None],
) -> tuple[Any, TextPlan | None]:
    """Return what a function gives for symbolic tensors, and what the host computes for it."""
    leaves = keras.tree.flatten((args, kwargs))
    # Text of a batch, too: a layer may be built while a model is traced, or called with values.
    texts = [place for place, each in enumerate(leaves) if _is_symbolic_text(each) or _is_text(each)]
    if not texts and make_plan() is None:
        found: list[int] = []
        with labels.look_up_by(_look_up, apply):
            return _mark(original(_giving_numbers(fn, found), *args, **kwargs), found), None
    own_args, own_kwargs = keras.tree.map_structure(
        lambda each: _as_number(each) if _is_symbolic_text(each) or _is_text(each) else each, (args, kwargs)
    )
    specs: list[Any] = []
    for width in _WIDTHS:
        trial = _Trial(fn, texts, make_plan(), width)
        specs.append(_mark(original(trial, *own_args, **own_kwargs), trial.found))
        # Once more where a width depends on the data, to see which sizes follow from it.
        if not trial.has_widths:
            return specs[0], trial.plan
    return keras.tree.map_structure(of_both, *specs), trial.plan


class _Trial:
    """A function with symbols in the places of text, as often as it is called to find out what it gives.

    Args:
        fn: The function.
        texts: Which of its arguments are text.
        plan: Takes what the host computes; None where nobody wants to know.
        width: How wide rows are whose width depends on the data.

    Attributes:
        plan: The same.
        found: Which of its results are text.
        has_widths: Whether there are such rows.
    """

    def __init__(
        self, fn: Callable[..., Any], texts: Sequence[int], plan: TextPlan | None, width: int
    ) -> None:
        self._fn, self._texts, self._width = fn, texts, width
        self.plan = plan
        self.found: list[int] = []
        self.has_widths = False

    def __call__(self, *args: object, **kwargs: object) -> Any:
        trace = TextTrace(self.plan, width=self._width)
        given = keras.tree.flatten((args, kwargs))
        for place, each in enumerate(given):
            if place in self._texts:
                given[place] = trace.feature(place, each.shape)
            elif isinstance(each, jax.core.Tracer):
                trace.note_number(place, each)
        own_args, own_kwargs = keras.tree.pack_sequence_as((args, kwargs), given)

        def call(*given_args: object, **given_kwargs: object) -> Any:
            results = self._fn(*given_args, **given_kwargs)
            for each in keras.tree.flatten(results) if self.plan is not None else ():
                if isinstance(each, BatchText):
                    # What a model gives of its text is there again behind a step.
                    trace.keep(each)
            return results

        with trace.enter():
            made = _giving_numbers(call, self.found)(*own_args, **own_kwargs)
        self.has_widths = self.has_widths or trace.has_widths
        return made


def _as_number(text: Array) -> keras.KerasTensor:
    shape = tuple(None if is_symbolic_size(size) else size for size in text.shape)
    return keras.KerasTensor(shape, "int32")


def _giving_numbers(fn: Callable[..., Any], found: list[int]) -> Callable[..., Any]:
    """Have a function give numbers in the places of text, and note these."""

    def numbers_of(*args: object, **kwargs: object) -> Any:
        made = fn(*args, **kwargs)
        leaves = keras.tree.flatten(made)
        found[:] = [place for place, each in enumerate(leaves) if _is_text(each)]
        if not found:
            return made
        return keras.tree.map_structure(
            lambda each: jnp.zeros(tuple(each.shape), np.int32) if _is_text(each) else each, made
        )

    return numbers_of


def _mark(spec: PyTree, found: list[int]) -> Any:
    """Return a spec with the places that are text marked."""
    if not found:
        return spec
    leaves = keras.tree.flatten(spec)
    for place in found:
        leaves[place] = keras.KerasTensor(leaves[place].shape, _TEXT)
    return keras.tree.pack_sequence_as(spec, leaves)


def _of_text_itself(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have a layer of a program that takes text be tried: a shape alone does not say whether it gives text."""

    @functools.wraps(original)
    def compute_output_spec(self: Any, *args: object, **kwargs: object) -> Any:
        if any(map(_is_symbolic_text, keras.tree.flatten((args, kwargs)))):
            try:
                return seam.compute_spec(self.call, *args, **kwargs)
            except Exception:
                # Keras tells of it, or has a shape that the layer says.
                return original(self, *args, **kwargs)
        return original(self, *args, **kwargs)

    return compute_output_spec


# What strategies' trainers ask for.

_changes = 0
_lock = threading.Lock()


def note_change() -> None:
    """Note that a layer has learnt: plans that were made before are none of its vocabulary."""
    global _changes
    with _lock:
        _changes += 1


def changes() -> int:
    """Return how often layers have learnt."""
    return _changes


def plan_of(model: keras.Model, leaves: Sequence[Any], rebuild: Callable[[Sequence[Any]], Any]) -> TextPlan:
    """Return what the host computes of a batch before a model's step.

    Args:
        model: The model; it is built, if it was not.
        leaves: Symbolic tensors, "string" where a feature is text.
        rebuild: Makes of leaves what the model is called with.
    """
    plans: list[TextPlan] = []
    with _COLLECTED.holding(plans):
        seam.compute_spec(lambda *given: model(rebuild(given)), *leaves)
    return plans[0]


def numbers_of(made: PyTree) -> tuple[PyTree, Callable[[PyTree], Any] | None]:
    """Return what a step gives with numbers in the place of text, and what makes the text of them behind it.

    Args:
        made: The step's results.

    Returns:
        The results, with a tuple of arrays for each text; and a function of them that returns the results, on the
        host. None where there is no text.
    """
    leaves = keras.tree.flatten(made)
    texts = {place: _in_numbers(each) for place, each in enumerate(leaves) if _is_text(each)}
    if not texts:
        return made, None
    own = keras.tree.pack_sequence_as(
        made, [texts[place].numbers if place in texts else each for place, each in enumerate(leaves)]
    )
    counts = [len(texts[place].numbers) if place in texts else 0 for place in range(len(leaves))]
    functions = {place: text.function for place, text in texts.items()}
    outline = keras.tree.map_structure(lambda _: None, made)

    def text_of(results: PyTree) -> Any:
        given = iter(keras.tree.flatten(results))
        found = [
            as_result(np.asarray(functions[place](*(np.asarray(next(given)) for _ in range(count)))))
            if count
            else next(given)
            for place, count in enumerate(counts)
        ]
        return keras.tree.pack_sequence_as(outline, found)

    return own, text_of


def _in_numbers(text: Any) -> LayerText:
    if isinstance(text, LayerText):
        return text
    if isinstance(text, BatchText):
        return text.trace.keep(text)
    # A constant has as many rows as the batch, by luck alone.
    raise BadTypeError(
        f"A model gives text that does not depend on its inputs. Expected: text of them. Received: {shown(text)}."
    )


@contextmanager
def in_step(
    plan: TextPlan, shapes: Sequence[Any], numbers: Sequence[Any], given: dict[str, Any]
) -> Iterator[list[Any]]:
    """Give the features of a batch, while a step with it is traced.

    Args:
        plan: What was computed of the batch.
        shapes: The sizes of a feature that is text; None for one of numbers.
        numbers: The features of numbers, by place; None for text.
        given: What was computed, by key.
    """
    trace = TextTrace(plan, given)
    features = [
        number if shape is None else trace.feature(place, shape)
        for place, (shape, number) in enumerate(zip(shapes, numbers, strict=True))
    ]
    for place, each in enumerate(numbers):
        if each is not None:
            trace.note_number(place, each)
    with trace.enter():
        yield features
