"""First values of variables made without compiling anything: equal numbers, and random ones (core layer).

JAX makes such an array by a program, which is compiled for each shape: in 30 milliseconds of processor time where all
numbers are equal, and in 0.3 to 0.8 seconds where they are random (2 cores, jaxlib 0.10.2). Weights have ten to
thirty shapes. NumPy writes the first kind, and draws JAX' numbers, to rounding: bits are those of Threefry by their
position, whatever the shape, as JAX has them since `jax_threefry_partitionable` is on.

What draws them is in "Parallel random numbers: as easy as 1, 2, 3" (Salmon et al., 2011), the inverse of `erf` in
"Approximating the erfinv function" (Giles, 2010), as in XLA.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.base.surroundings import Slot, Surroundings
from stratax.seams.jax import computes_now
from stratax.seams.keras import draw_seed

_NUMBERS = {keras.initializers.Zeros: 0, keras.initializers.Ones: 1}


def fill_on_host(initializer: Callable[..., Any]) -> Callable[..., Any]:
    """Return what gives an initializer's values, by NumPy where they are used on a CPU: equal numbers and random ones.

    Args:
        initializer: Takes a shape and a dtype, and returns an array.
    """
    # Of the class itself: another one may give anything.
    number = _NUMBERS.get(type(initializer))  # type: ignore[call-overload]
    if not computes_now() or not _is_on_cpu():
        return initializer

    def draw(shape: tuple[int, ...], dtype: Any = None) -> jax.Array:
        with draw_on_host():
            return initializer(shape, dtype=dtype)

    if number is None:
        return draw

    def fill(shape: tuple[int, ...], dtype: Any = None) -> jax.Array:
        kind = jax.numpy.dtype(keras.backend.standardize_dtype(dtype))
        if jax.dtypes.canonicalize_dtype(kind) != kind:
            # JAX warns of a type that it has not.
            return initializer(shape, dtype=dtype)
        values = np.zeros(shape, kind) if number == 0 else np.ones(shape, kind)
        # Memory of NumPy's can't be donated, so it is copied.
        return jax.device_put(values, may_alias=False)

    return fill


def _is_on_cpu() -> bool:
    """Return whether new arrays lie on a CPU."""
    device: Any = jax.config.jax_default_device  # type: ignore[attr-defined]
    if device is None:
        return jax.default_backend() == "cpu"
    return (device if isinstance(device, str) else device.platform) == "cpu"


# More take NumPy longer than JAX takes to compile what draws them.
MAX_SIZE = 1 << 22
# So many at a time stay in the processor's cache.
_BLOCK = 1 << 14

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

# Of a polynomial in `w - 2.5`, and in `sqrt(w) - 3` where w, which is -log(1 - x * x), is at least 5.
_CENTRAL = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503),
    *(-0.00417768164, 0.246640727, 1.50140941),
)
_TAIL = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613),
    *(0.00943887047, 1.00167406, 2.83297682),
)

_DRAWS: Slot[bool] = Slot("draws on the host", False)

Draw = Callable[..., Any]
Make = Callable[[np.ndarray, np.float32, np.float32], np.ndarray]
Seed = Any
_Key = tuple[np.uint32, np.uint32]


def draw_on_host() -> Surroundings:
    """Have Keras' random numbers drawn by NumPy meanwhile, where they are few."""
    return _DRAWS.holding(True)


def wrap_normal(original: Draw) -> Draw:
    """Wrap the function of that name of Keras' JAX backend in one that draws by NumPy where it may."""

    @functools.wraps(original)
    def draw(
        shape: Sequence[int],
        mean: float = 0.0,
        stddev: float = 1.0,
        dtype: str | None = None,
        seed: Seed = None,
    ) -> jax.Array:
        return _draw(original, _normal, (mean, stddev), shape, dtype, seed)

    return draw


def wrap_uniform(original: Draw) -> Draw:
    """Wrap the function of that name likewise."""

    @functools.wraps(original)
    def draw(
        shape: Sequence[int],
        minval: float = 0.0,
        maxval: float = 1.0,
        dtype: str | None = None,
        seed: Seed = None,
    ) -> jax.Array:
        return _draw(original, _uniform, (minval, maxval), shape, dtype, seed)

    return draw


def wrap_truncated_normal(original: Draw) -> Draw:
    """Wrap the function of that name likewise."""

    @functools.wraps(original)
    def draw(
        shape: Sequence[int],
        mean: float = 0.0,
        stddev: float = 1.0,
        dtype: str | None = None,
        seed: Seed = None,
    ) -> jax.Array:
        return _draw(original, _normal_within_two, (mean, stddev), shape, dtype, seed)

    return draw


def _draw(
    original: Draw,
    make: Make,
    numbers: tuple[float, float],
    shape: Sequence[int],
    dtype: str | None,
    seed: Seed,
) -> jax.Array:
    is_drawn = (
        _DRAWS.get()
        and (dtype or keras.config.floatx()) == "float32"
        and all(isinstance(number, int | float) for number in numbers)
        and 0 < math.prod(shape) <= MAX_SIZE
        and jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
        and jax.config.jax_default_prng_impl == "threefry2x32"  # type: ignore[attr-defined]
    )
    if is_drawn:
        key = [seed, 0] if isinstance(seed, int) else _next_key(seed)
        if not isinstance(key, jax.core.Tracer):
            first, second = (np.uint32(int(half) & 0xFFFFFFFF) for half in np.asarray(key))
            blocks = [
                make(bits, *map(np.float32, numbers)) for bits in _bits((first, second), math.prod(shape))
            ]
            return jax.device_put(np.concatenate(blocks).reshape(shape), may_alias=False)
        seed = key
    drawn: jax.Array = original(shape, *numbers, dtype, seed)
    return drawn


def _next_key(seed: Seed) -> Any:
    return seed if isinstance(seed, jax.Array) else draw_seed(seed)


def _bits(key: _Key, count: int) -> Iterator[np.ndarray]:
    """Yield blocks of 32 random bits each: uint32 [n]."""
    keys = (*key, key[0] ^ key[1] ^ _PARITY)
    for start in range(0, count, _BLOCK):
        # The upper half of a position is 0 of so few.
        low = np.arange(start, min(start + _BLOCK, count), dtype=np.uint32) + keys[1]
        high = np.full_like(low, keys[0])
        for group in range(5):
            for distance in _ROTATIONS[group % 2]:
                high += low
                low = (low << np.uint32(distance)) | (low >> np.uint32(32 - distance))
                low ^= high
            high += keys[(group + 1) % 3]
            low += np.uint32((int(keys[(group + 2) % 3]) + group + 1) & 0xFFFFFFFF)
        yield high ^ low


def _uniform(bits: np.ndarray, low: np.float32, high: np.float32) -> np.ndarray:
    fractions = ((bits >> np.uint32(9)) | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)
    return np.maximum(low, fractions * (high - low) + low)


def _normal(bits: np.ndarray, mean: np.float32, stddev: np.float32) -> np.ndarray:
    between = _uniform(bits, np.nextafter(np.float32(-1), np.float32(0)), np.float32(1))
    return np.float32(math.sqrt(2)) * _inverse_erf(between) * stddev + mean


def _normal_within_two(bits: np.ndarray, mean: np.float32, stddev: np.float32) -> np.ndarray:
    most = np.float32(math.erf(math.sqrt(2)))
    drawn = np.float32(math.sqrt(2)) * _inverse_erf(_uniform(bits, -most, most))
    inside = np.nextafter(np.float32(2), np.float32(0))
    return np.clip(drawn, -inside, inside) * stddev + mean


def _inverse_erf(x: np.ndarray) -> np.ndarray:
    w = -np.log1p(-x * x)
    is_tail = w >= np.float32(5)
    result = _polynomial(_CENTRAL, w - np.float32(2.5))
    # Few numbers are there, which cost as much as all others.
    if is_tail.any():
        result[is_tail] = _polynomial(_TAIL, np.sqrt(w[is_tail]) - np.float32(3))
    return result * x


def _polynomial(coefficients: Sequence[float], x: np.ndarray) -> np.ndarray:
    result = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result *= x
        result += np.float32(coefficient)
    return result
