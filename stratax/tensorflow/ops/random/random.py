"""Random numbers (ops layer).

Without a seed they come from Keras' generators, on a device, and are other ones than TensorFlow's: they follow from the
seed given to :func:`set_seed`, in a compiled function too, and every replica draws its own. With a seed each call gives
the next numbers of a sequence: TensorFlow's own where a value is drawn at once (`_seeds`), others in a compiled
function.
"""

import functools
import math
import secrets
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_traced
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import as_element
from stratax.data.vectorise import in_pipeline
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._eager import is_at_once
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import lengths_of, on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.random import _philox, stateless
from stratax.tensorflow.ops.random._seeds import place_of, set_program_seed, source_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _beside_elements(function: _Function) -> _Function:
    """Have a function that draws numbers give them on the host where a `Dataset` calls it.

    What is computed with them there would otherwise be sent to a device, one small operation after another.
    """

    @functools.wraps(function)
    def draw_numbers(*args: object, **kwargs: object) -> Any:
        numbers = function(*args, **kwargs)
        return as_element(np.asarray(numbers)) if in_pipeline() and not is_traced(numbers) else numbers

    return cast(_Function, draw_numbers)


def _in_one_program(function: _Function) -> _Function:
    """Have a function of `keras.random` draw in one compiled program where nothing is traced, or a `Dataset` calls it.

    Keras counts its generator on and draws in some ten steps, each of which is sent to a device by itself. The numbers
    are the same.
    """
    drawn_by_keras = _beside_elements(function)

    def draw_numbers(sizes: tuple[int, ...], low: Any, high: Any, *, dtype: Any, seed: Any) -> Any:
        # Only Python's numbers can be constants of a program, and tell programs apart.
        is_plain = type(seed) is keras.random.SeedGenerator and {type(low), type(high)} <= {int, float}
        # A number belongs to one element, and needs no turns.
        if isinstance(seed, int) or not (in_pipeline() or _may_draw_at_once(low, dtype)):
            return drawn_by_keras(sizes, low, high, dtype=dtype, seed=seed)
        # Threads of a pipeline must not draw the same: Keras reads a generator and then counts it on.
        with _drawing:
            if not is_plain:
                return drawn_by_keras(sizes, low, high, dtype=dtype, seed=seed)
            state = seed.state.value
            numbers, after = (
                (state, state) if is_traced(state) else _program(function, sizes, low, high, dtype)(state)
            )
            if is_traced(numbers):
                return drawn_by_keras(sizes, low, high, dtype=dtype, seed=seed)
            seed.state.assign(after)
        return as_element(np.asarray(numbers)) if in_pipeline() else numbers

    return cast(_Function, draw_numbers)


def _may_draw_at_once(low: object, dtype: DTypeLike) -> bool:
    # Of whole numbers the ends are part of a program, and programs often draw between ever new ones.
    return type(low) is float and np.dtype(dtype).itemsize != _SHORT and is_at_once()


_drawing = threading.Lock()
# Within one program XLA may compute numbers of 16 bits with more.
_SHORT = 2


@functools.lru_cache(maxsize=1024)
def _program(
    function: Callable[..., Any], sizes: tuple[int, ...], low: float, high: float, dtype: object
) -> Any:
    """Return a compiled function of a generator's state, which gives numbers and the state behind them."""
    import jax

    def draw(state: Array) -> Any:
        # As a generator counts.
        return function(sizes, low, high, dtype=dtype, seed=state), state + np.array([0, 1], state.dtype)

    return jax.jit(draw)


_normal = _in_one_program(keras.random.normal)
_truncated_normal = _in_one_program(keras.random.truncated_normal)
_uniform = _in_one_program(keras.random.uniform)
_whole_numbers = _in_one_program(keras.random.randint)


def _floats(
    exact: Callable[..., Any], on_a_device: Callable[..., Any], shape: Any, dtype: Any, seed: Any
) -> Any:
    """Return floats that one of two functions draws: of TensorFlow's sequence, or with a generator of a device."""
    sizes, kind = lengths_of("shape", shape), as_dtype(dtype)
    # Counted for each operation and dtype: TensorFlow keeps a kernel, which counts, for each.
    place = (
        place_of((exact.__name__, str(kind)), seed, math.prod(sizes) * _philox.RESERVED)
        if _philox.is_drawn(kind)
        else None
    )
    if place is None:
        return on_a_device(sizes, 0.0, 1.0, dtype=device_dtype(dtype), seed=source_of(seed))
    return _place(exact(*place, sizes, kind))


def _integers(sizes: tuple[int, ...], low: Any, high: Any, kind: np.dtype, seed: Any) -> Any:
    """Return whole numbers, likewise."""
    place = None
    if (
        _philox.is_drawn(kind)
        and not is_traced(low)
        and not is_traced(high)
        # TensorFlow's sequence is one of ends that are the same for all numbers.
        and np.ndim(low) == np.ndim(high) == 0
    ):
        place = place_of(("integers", str(kind)), seed, math.prod(sizes) * _philox.RESERVED)
    if place is None:
        return _whole_numbers(sizes, low, high, dtype=device_dtype(kind), seed=source_of(seed))
    return _place(_philox.integers(*place, sizes, int(low), int(high), kind))


def _scale(drawn: Any, factor: Any, offset: Any) -> Any:
    """Return numbers scaled and moved: here, so that both may be traced values, or arrays that broadcast."""
    numbers = drawn * factor + offset
    # NumPy makes float32 of a bfloat16 and a number of Python.
    return numbers.astype(drawn.dtype) if isinstance(drawn, np.ndarray) else numbers


def _place(numbers: np.ndarray) -> Any:
    """Return numbers where they are wanted: as a pipeline's elements, or on a device."""
    return as_element(numbers) if in_pipeline() else on_device(numbers)


def set_seed(seed: int | None) -> None:
    """Fix what every later random number follows from, as `tf.random.set_seed`.

    It seeds Keras (weights, dropout), NumPy and Python, and so the order of a `Dataset.shuffle` without a seed.
    TensorFlow's seeds TensorFlow alone.

    Args:
        seed: A whole number; None for one that nobody knows.
    """
    number = secrets.randbits(31) if seed is None else seed
    # NumPy takes 32 bits.
    keras.utils.set_random_seed(number % (1 << 32))
    set_program_seed(number, is_known=seed is not None)


@op
def normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | TensorLike | None = None,
) -> Any:
    """Normally distributed numbers, as `tf.random.normal`.

    Args:
        shape: The shape.
        mean: Their mean.
        stddev: Their standard deviation.
        dtype: A floating-point dtype.
        seed: None; or a `keras.random.SeedGenerator`; or a number, with which every call gives the next numbers of a
            sequence: outside of compiled functions those of TensorFlow, also for each element of a dataset.

    Returns:
        A `jax.Array`.

    Example:
        >>> import stratax.tf as tf
        >>> tf.random.normal((2, 3)).shape
        TensorShape([2, 3])
    """
    drawn = _floats(_philox.normal, _normal, shape, dtype, seed)
    return _scale(drawn, stddev, mean)


@op
def truncated_normal(
    shape: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    seed: int | TensorLike | None = None,
) -> Any:
    """Normally distributed numbers at most two standard deviations away; arguments as for :func:`normal`."""
    return _scale(_floats(_philox.truncated_normal, _truncated_normal, shape, dtype, seed), stddev, mean)


@op
def uniform(
    shape: TensorLike,
    minval: Any = 0,
    maxval: TensorLike | None = None,
    dtype: Any = "float32",
    seed: int | TensorLike | None = None,
) -> Any:
    """Evenly distributed numbers from `minval` up to but not `maxval`, as `tf.random.uniform`.

    Args:
        shape: The shape.
        minval: The lower end.
        maxval: The upper end; 1 if None and `dtype` is floating point.
        dtype: A dtype; of whole numbers, `maxval` has to be given.
        seed: As for :func:`normal`.

    Returns:
        A `jax.Array`.

    Raises:
        BadArgumentError: If whole numbers are asked for without `maxval`, or there are none between the ends.
    """
    sizes = lengths_of("shape", shape)
    if as_dtype(dtype).kind in "iu":
        if maxval is None:
            raise BadArgumentError(
                f"Random whole numbers need an upper end. Received: maxval=None, dtype={shown(dtype)}. Pass maxval."
            )
        stateless.check_ends(minval, maxval)
        return _integers(sizes, minval, maxval, as_dtype(dtype), seed)
    # Numbers from 0 to 1 are drawn first: so TensorFlow's sequence is met for any ends.
    top = 1 if maxval is None else maxval
    return _scale(_floats(_philox.uniform, _uniform, sizes, dtype, seed), top - minval, minval)


@op
@_beside_elements
def shuffle(value: object, seed: int | TensorLike | None = None) -> Any:
    """`value` with its first dimension in random order, as `tf.random.shuffle`; `seed` as for :func:`normal`."""
    array = on_device(value)
    # One number has one order.
    if not array.ndim:
        return array
    count = array.shape[0]
    # A word for each exchange, four of which a counter gives.
    place = place_of("shuffle", seed, -(-(count - 1) // 4))
    if place is None:
        return keras.random.shuffle(array, seed=source_of(seed))
    return array[_philox.permutation(*place, count)]


@op
@_beside_elements
def categorical(
    logits: TensorLike, num_samples: int, dtype: DTypeLike | None = None, seed: int | TensorLike | None = None
) -> Any:
    """Classes drawn with the probabilities that `logits` say, as `tf.random.categorical`.

    Args:
        logits: Unscaled logarithms of probabilities, shape `(examples, classes)`.
        num_samples: How many are drawn for every example.
        dtype: The dtype of the result; on a device int64, the default, is int32.
        seed: As for :func:`normal`.

    Returns:
        Whole numbers, shape `(examples, num_samples)`.
    """
    drawn = keras.random.categorical(on_device(logits), num_samples, seed=source_of(seed))
    return ops.cast(drawn, device_dtype(np.int64 if dtype is None else dtype))


def _seed_of(seed: object) -> Any:
    """Return a seed of stateless functions: the next of the generator, or that of a number."""
    source = source_of(seed)
    if isinstance(source, keras.random.SeedGenerator):
        return stateless.as_seed(source.next())
    # A pipeline's element has a number in place of a generator.
    return stateless.split(np.array([source, 0]), 1)[0]


@op
@_beside_elements
def gamma(
    shape: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
    seed: int | TensorLike | None = None,
) -> Any:
    """Numbers of Gamma distributions, as `tf.random.gamma`.

    Args:
        shape: The shape of what is drawn for each distribution.
        alpha: The distributions' concentrations.
        beta: Their rates; 1 if None.
        dtype: A floating-point dtype.
        seed: As for :func:`normal`.

    Returns:
        A `jax.Array` whose shape is `shape` and that of the parameters.
    """
    concentration = on_device(alpha, dtype)
    rate = on_device(1.0 if beta is None else beta, dtype)
    sizes = (*lengths_of("shape", shape), *np.broadcast_shapes(concentration.shape, rate.shape))
    return stateless.stateless_gamma(sizes, _seed_of(seed), concentration, rate, dtype)


@op
@_beside_elements
def poisson(
    shape: TensorLike, lam: TensorLike, dtype: DTypeLike = "float32", seed: int | TensorLike | None = None
) -> Any:
    """Numbers of Poisson distributions, as `tf.random.poisson`.

    Args:
        shape: The shape of what is drawn for each distribution.
        lam: The distributions' rates.
        dtype: The dtype.
        seed: As for :func:`normal`.

    Returns:
        A `jax.Array` whose shape is `shape` and that of `lam`.
    """
    rates = on_device(lam, "float32")
    return stateless.stateless_poisson(
        (*lengths_of("shape", shape), *rates.shape), _seed_of(seed), rates, dtype
    )
