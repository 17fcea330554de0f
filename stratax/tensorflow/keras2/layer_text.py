"""Text in layers of Keras' models: inputs of text, and text of what a compiled step computes (keras2 layer).

A step has numbers only. A model with inputs of text gets numbers of the texts in their place, and what its layers make
of text is made by the host once it is a number again: hashes, and what tables find. Text that is returned is refused.
"""

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.typing import DTypeLike, TensorLike
from stratax.core import host
from stratax.data.elements import TensorShape
from stratax.errors import BadTypeError
from stratax.seams import keras2 as seam
from stratax.tensorflow.ops.calls import labels
from stratax.tensorflow.ops.calls.on_host import array_of, as_result
from stratax.tensorflow.ops.calls.text import as_text, holds_text
from stratax.tensorflow.ops.tables.numeric_tables import fitting

_FUNCTIONAL = "keras.src.models.functional:Functional"
_TEXT = "string"
# Text has 32 bits in a step.
_NUMBER = np.int32


class _Known:
    """The texts that models were given in this process, by their numbers."""

    def __init__(self) -> None:
        # Number 0 is what stands for text while a model is examined.
        self._texts: list[bytes] = [b""]
        self._numbers: dict[bytes, int] = {b"": 0}
        # Threads of inputs number texts at once, and two texts of one number would be taken for one another.
        self._lock = threading.Lock()

    def number(self, texts: np.ndarray) -> np.ndarray:
        """Return the numbers of texts, of the same shape."""
        found = [self._number_of(text) for text in texts.reshape(-1).tolist()]
        return np.array(found, _NUMBER).reshape(texts.shape)

    def _number_of(self, text: bytes) -> int:
        number = self._numbers.get(text)
        if number is not None:
            return number
        with self._lock:
            if text not in self._numbers:
                # The text before its number, which others may use at once.
                self._texts.append(text)
                self._numbers[text] = len(self._texts) - 1
            return self._numbers[text]

    def text(self, numbers: np.ndarray) -> np.ndarray:
        """Return the texts of numbers."""
        made = np.empty(numbers.size, object)
        made[:] = [self._texts[number] for number in numbers.reshape(-1).tolist()]
        return made.reshape(numbers.shape)


_known = _Known()


class LayerText(labels.TextSymbol):
    """Text that the host makes of numbers of a compiled step, once it is a number again.

    Args:
        function: From NumPy arrays of the numbers to text.
        numbers: Arrays of the step.
        shape: The text's shape.
    """

    dtype = np.dtype(object)

    def __init__(
        self, function: Callable[..., np.ndarray], numbers: Sequence[Any], shape: Sequence[int]
    ) -> None:
        self.function = function
        self.numbers = tuple(numbers)
        self.shape = TensorShape(shape)

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return len(self.shape)

    def get_shape(self) -> TensorShape:
        """Return its shape, as tensors of TensorFlow do."""
        return self.shape

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function of arrays makes of it and others."""
        return apply(function, operands, name)

    def __eq__(self, other: object) -> Any:
        return apply(np.equal, [self, as_text("y", other) if holds_text(other) else other], "equal")

    def __ne__(self, other: object) -> Any:
        return apply(np.not_equal, [self, as_text("y", other) if holds_text(other) else other], "not_equal")

    __hash__ = object.__hash__

    def __jax_array__(self) -> NoReturn:
        raise BadTypeError(
            "Text in a layer becomes a number before the layer returns it. Expected: tf.strings.to_hash_bucket_fast, "
            f"a table of tf.lookup, or a comparison. Received: text of shape {tuple(self.shape)}."
        )


def install() -> None:
    """Put inputs of text in place; safe to call again."""
    # Beside the call of each layer: a step may call the model's own function.
    seam.widen(f"{_FUNCTIONAL}.call", with_text)
    seam.widen(f"{_FUNCTIONAL}._convert_inputs_to_tensors", _with_text)
    seam.widen(f"{_FUNCTIONAL}._standardize_inputs", _note_text)


def with_text(call: Callable[..., Any]) -> Callable[..., Any]:
    """Have text of a layer's call be made of numbers, in the outermost call of those that are inside of one another."""

    @functools.wraps(call)
    def method(self: object, *args: object, **kwargs: object) -> Any:
        if labels.applier() is not None:
            return call(self, *args, **kwargs)
        with labels.look_up_by(labels.lookup(), apply) | labels.NUMBERED.holding({}):  # type: ignore[arg-type]
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
    parts = [_part_of(each) for each in operands]
    numbers = [number for _, own, _ in parts for number in own]

    def compute(*arrays: np.ndarray) -> np.ndarray:
        given = iter(arrays)
        values = [make(*(next(given) for _ in own)) for make, own, _ in parts]
        return np.asarray(function(*values))

    if not any(isinstance(each, jax.core.Tracer) for each in numbers):
        return as_result(compute(*map(np.asarray, numbers)))
    if gives is None:
        blank = compute(*(np.zeros(each.shape, each.dtype) for each in numbers))
        gives, shape = blank.dtype, blank.shape
    else:
        # JAX', for sizes that are not known while a model is examined.
        shape = jnp.broadcast_shapes(*(own for _, _, own in parts))
    if np.dtype(gives).hasobject:
        return LayerText(compute, numbers, shape)
    kind = jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(np.dtype(gives)))
    made = host.call_on_host(
        lambda *arrays: [fitting(compute(*arrays), kind.dtype)],
        [jax.lax.stop_gradient(jnp.asarray(each)) for each in numbers],
        [kind],
    )
    return made[0]


def _part_of(value: Any) -> tuple[Callable[..., np.ndarray], Sequence[Any], tuple[int, ...]]:
    """Return how an operand's value is made of numbers of the step, these, and its shape."""
    if isinstance(value, LayerText):
        return value.function, value.numbers, tuple(size for size in value.shape if size is not None)
    if _is_numbered(value):
        return _known.text, [value], tuple(value.shape)
    if isinstance(value, jax.core.Tracer):
        return lambda array: array, [value], tuple(value.shape)
    array = array_of(value)
    return lambda: array, [], array.shape


def _is_numbered(value: object) -> bool:
    return id(value) in (labels.NUMBERED.get() or ())


def _note(arrays: Iterable[Any]) -> None:
    noted = labels.NUMBERED.get()
    if noted is not None:
        noted.update({id(each): each for each in arrays})


def _with_text(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have inputs of text be numbers of texts."""

    @functools.wraps(original)
    def convert(self: Any, flat_inputs: Sequence[Any]) -> Any:
        if not any(map(_is_text, self._inputs)):
            return original(self, flat_inputs)
        return [
            _as_numbers(each)
            if _is_text(own)
            else keras.ops.convert_to_tensor(each, dtype=own.dtype, sparse=own.sparse)
            for each, own in zip(flat_inputs, self._inputs, strict=True)
        ]

    return convert


def _note_text(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def standardize(self: Any, inputs: object) -> Any:
        made = original(self, inputs)
        _note(each for each, own in zip(made, self._inputs, strict=True) if _is_text(own))
        return made

    return standardize


def _is_text(tensor: object) -> bool:
    return isinstance(tensor, keras.KerasTensor) and tensor.dtype == _TEXT


def _as_numbers(value: TensorLike) -> Any:
    return jnp.asarray(number_texts(value))


def number_texts(value: object) -> Any:
    """Return an array's numbers where it is text; what is none as it is."""
    if isinstance(value, jax.Array | keras.KerasTensor) or value is None:
        return value
    if str(getattr(value, "dtype", "")) in ("str", "string", "object") or holds_text(value):
        texts = np.asarray(value, object)
        if holds_text(texts):
            return _known.number(as_text("x", texts))
    return value


def number_inputs(model: Any, x: object) -> Any:
    """Return what a model with inputs of text is given, with numbers in the place of texts.

    Args:
        model: A functional model.
        x: Arrays, or lists, tuples and dicts of them; a Dataset is left as it is.
    """
    if isinstance(x, dict):
        return {name: number_texts(each) for name, each in x.items()}
    if isinstance(x, list | tuple) and len(x) == len(model.inputs) > 1:
        return type(x)(map(number_texts, x))
    return number_texts(x)


def spec_of(fn: Callable[..., Any], args: object, kwargs: object) -> tuple[Callable[..., Any], Any, Any]:
    """Return a function and symbolic arguments with numbers in the place of texts, for finding out what it gives."""
    leaves = keras.tree.flatten((args, kwargs))
    if not any(map(_is_text, leaves)):
        return fn, args, kwargs
    places = [place for place, each in enumerate(leaves) if _is_text(each)]

    def noting(*own_args: object, **own_kwargs: object) -> Any:
        given = keras.tree.flatten((own_args, own_kwargs))
        _note(given[place] for place in places)
        return fn(*own_args, **own_kwargs)

    def as_number(each: Any) -> Any:
        return keras.KerasTensor(each.shape, "int32") if _is_text(each) else each

    own_args, own_kwargs = keras.tree.map_structure(as_number, (args, kwargs))
    return noting, own_args, own_kwargs
