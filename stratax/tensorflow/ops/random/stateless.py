"""Random numbers as functions of a seed (ops layer): `tf.random.stateless_uniform` and its like.

The numbers are other ones than TensorFlow's; the same seed gives the same. In a function that a `Dataset` calls they
are NumPy's, on the host, where the seed is; elsewhere JAX', on a device, which are the same on every kind of device.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.refusals import raises_named
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import generator
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._host import is_made_on_host
from stratax.tensorflow.ops.calls.creation import lengths_of, on_device
from stratax.tensorflow.ops.calls.dtypes import as_dtype, device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.special import library_function

# The seed of a device's generator.
_IMPL = "threefry2x32"


def key_of(seed: TensorLike) -> Any:
    """Return the key of JAX that two whole numbers stand for.

    Raises:
        BadArgumentError: If there are not two.
        BadTypeError: If they are no whole numbers.
    """
    import jax

    if tuple(np.shape(seed)) != (2,):
        raise BadArgumentError(
            f"A seed is two whole numbers. Received: seed={shown(seed)}. Pass for instance (1, 2)."
        )
    numbers = seed if hasattr(seed, "dtype") else np.asarray(seed)
    if np.dtype(numbers.dtype).kind not in "iu":
        raise BadTypeError(
            f"A seed is two whole numbers. Received: seed={shown(seed)} of dtype {numbers.dtype}. Use tf.cast."
        )
    if isinstance(numbers, np.ndarray):
        # Of 64 bits the upper half counts, too.
        wide = numbers.astype(np.int64).view(np.uint64)
        # JAX' keys have 32 bits for each number.
        numbers = ((wide >> np.uint64(32)) ^ wide).astype(np.uint32)
    return jax.random.wrap_key_data(on_device(numbers).astype("uint32"), impl=_IMPL)


def _draw(
    seed: object, host: Callable[[np.random.Generator], Any], device: Callable[[Any], Any], *operands: object
) -> Any:
    """Return what one of two functions draws: with NumPy's generator, or with a key of JAX."""
    if is_made_on_host([seed, *(operand for operand in operands if operand is not None)]):
        numbers = np.asarray(seed)
        if numbers.shape != (2,):
            raise BadArgumentError(f"A seed is two whole numbers. Received: seed={shown(seed)}.")
        return host(generator([int(part) for part in numbers]))
    return device(key_of(seed))


def _float_dtype(dtype: DTypeLike) -> np.dtype:
    kind = as_dtype(dtype)
    if kind.kind not in "f" and kind.name != "bfloat16":
        raise BadTypeError(f"Expected: a floating-point dtype. Received: dtype={shown(dtype)}.")
    return kind


@op(name_after="dtype")
def stateless_uniform(
    shape: TensorLike,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = "float32",
    alg: object = "auto_select",
) -> Any:
    """Return evenly distributed numbers that `seed` says, as `tf.random.stateless_uniform`.

    Args:
        shape: The shape.
        seed: Two whole numbers.
        minval: The lower end. None, for whole numbers: with `maxval` None all numbers of the dtype.
        maxval: The upper end, which is not drawn; 1 if None and `dtype` is floating-point.
        dtype: The dtype.
        alg: Ignored.

    Raises:
        BadArgumentError: If whole numbers are asked for with one end only, or the seed is not two numbers.
    """
    sizes, kind = lengths_of("shape", shape), as_dtype(dtype)
    if kind.kind in "iu":
        return _whole_numbers(sizes, seed, minval, maxval, kind)
    _float_dtype(dtype)
    low, high = 0 if minval is None else minval, 1 if maxval is None else maxval

    def host(numbers: np.random.Generator) -> Any:
        # In 64 bits, and rounded once.
        return np.asarray(numbers.random(sizes) * (np.asarray(high) - low) + low).astype(kind)[()]

    def device(key: Any) -> Any:
        import jax

        return jax.random.uniform(key, sizes, device_dtype(kind)) * (high - low) + low

    return _draw(seed, host, device, minval, maxval)


def check_ends(minval: TensorLike, maxval: TensorLike) -> None:
    """Raise where there are no whole numbers from `minval` up to but not `maxval`, as far as the ends are known.

    Raises:
        BadArgumentError: As TensorFlow.
    """
    if is_known(minval) and is_known(maxval) and not np.all(np.asarray(minval) < np.asarray(maxval)):
        raise BadArgumentError(
            f"Need minval < maxval. Received: minval={shown(minval)}, maxval={shown(maxval)}, which is not drawn."
        )


def _whole_numbers(sizes: tuple[int, ...], seed: Any, minval: Array, maxval: Array, kind: np.dtype) -> Any:
    is_full = minval is None and maxval is None
    if not is_full and (maxval is None or minval is None):
        raise BadArgumentError(
            f"Random whole numbers need an upper end. Received: minval={shown(minval)}, maxval={shown(maxval)}. Pass "
            "maxval, or None for both: all numbers of the dtype."
        )
    if not is_full:
        check_ends(minval, maxval)

    def host(numbers: np.random.Generator) -> Any:
        limits = np.iinfo(kind)
        # The end belongs to it here: behind the largest number of a dtype there is none.
        low, high = (limits.min, limits.max) if is_full else (minval, np.asarray(maxval) - 1)
        return np.asarray(numbers.integers(low, high, sizes, kind, endpoint=True))[()]

    def device(key: Any) -> Any:
        import jax

        narrow = device_dtype(kind)
        if is_full:
            # `randint` can't be given an end behind the largest number.
            words = jax.random.bits(key, sizes, f"uint{np.dtype(narrow).itemsize * 8}")
            return jax.lax.bitcast_convert_type(words, narrow)
        return jax.random.randint(key, sizes, minval, maxval, narrow)

    return _draw(seed, host, device, minval, maxval)


@op(name_after="dtype")
def stateless_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: DTypeLike = "float32",
    alg: object = "auto_select",
) -> Any:
    """Return normally distributed numbers that `seed` says, as `tf.random.stateless_normal`.

    Args:
        shape: The shape.
        seed: Two whole numbers.
        mean: Their mean.
        stddev: Their standard deviation.
        dtype: A floating-point dtype.
        alg: Ignored.
    """
    sizes, kind = lengths_of("shape", shape), _float_dtype(dtype)

    def host(numbers: np.random.Generator) -> Any:
        return np.asarray(numbers.standard_normal(sizes) * stddev + mean).astype(kind)[()]

    def device(key: Any) -> Any:
        import jax

        return jax.random.normal(key, sizes, device_dtype(kind)) * stddev + mean

    return _draw(seed, host, device, mean, stddev)


@op(name_after="dtype")
def stateless_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = "float32",
    alg: object = "auto_select",
) -> Any:
    """Return normally distributed numbers at most two deviations away; arguments as for :func:`stateless_normal`."""
    sizes, kind = lengths_of("shape", shape), _float_dtype(dtype)
    # In float32, whatever dtype is wanted.
    drawn = stateless_parameterized_truncated_normal(sizes, seed)
    return (
        drawn.astype(kind if isinstance(drawn, np.ndarray | np.generic) else device_dtype(kind)) * stddev
        + mean
    )


@op
def stateless_parameterized_truncated_normal(
    shape: TensorLike,
    seed: TensorLike,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
) -> Any:
    """Return normally distributed numbers within limits, as `tf.random.stateless_parameterized_truncated_normal`.

    Args:
        shape: The shape.
        seed: Two whole numbers.
        means: Their means before those outside are left out.
        stddevs: Their standard deviations, likewise.
        minvals: The lower limits.
        maxvals: The upper limits.
    """
    sizes = lengths_of("shape", shape)

    def host(numbers: np.random.Generator) -> Any:
        ends = [
            library_function("scipy.special.ndtr")((np.asarray(limit) - means) / stddevs)
            for limit in (minvals, maxvals)
        ]
        # By the inverse of the distribution: evenly between the shares of both limits.
        shares = ends[0] + numbers.random(sizes) * (ends[1] - ends[0])
        # Rounding may lead beyond the limits.
        return np.clip(
            library_function("scipy.special.ndtri")(shares) * stddevs + means, minvals, maxvals
        ).astype(np.float32)

    def device(key: Any) -> Any:
        import jax

        low, high = ((on_device(limit, "float32") - means) / stddevs for limit in (minvals, maxvals))
        return jax.random.truncated_normal(key, low, high, sizes) * stddevs + means

    return _draw(seed, host, device, means, stddevs, minvals, maxvals)


@op
def stateless_gamma(
    shape: TensorLike,
    seed: TensorLike,
    alpha: Any,
    beta: TensorLike | None = None,
    dtype: DTypeLike = "float32",
) -> Any:
    """Return numbers of Gamma distributions that `seed` says, as `tf.random.stateless_gamma`.

    Args:
        shape: The shape, to which the parameters broadcast.
        seed: Two whole numbers.
        alpha: The distributions' concentrations.
        beta: Their rates; 1 if None.
        dtype: A floating-point dtype.
    """
    sizes, kind = lengths_of("shape", shape), _float_dtype(dtype)
    rate = 1.0 if beta is None else beta

    def host(numbers: np.random.Generator) -> Any:
        return np.asarray(numbers.standard_gamma(alpha, sizes) / rate).astype(kind)[()]

    def device(key: Array) -> Any:
        import jax

        return jax.random.gamma(key, on_device(alpha, kind), sizes, device_dtype(kind)) / on_device(
            rate, kind
        )

    return _draw(seed, host, device, alpha, beta)


@op
def stateless_poisson(shape: TensorLike, seed: Any, lam: Any, dtype: DTypeLike = "int32") -> Any:
    """Return numbers of Poisson distributions that `seed` says, as `tf.random.stateless_poisson`.

    Args:
        shape: The shape, to which `lam` broadcasts.
        seed: Two whole numbers.
        lam: The distributions' rates.
        dtype: The dtype.
    """
    sizes, kind = lengths_of("shape", shape), as_dtype(dtype)

    def device(key: Array) -> Any:
        import jax

        return jax.random.poisson(key, on_device(lam, "float32"), sizes).astype(device_dtype(kind))

    return _draw(seed, lambda numbers: np.asarray(numbers.poisson(lam, sizes)).astype(kind)[()], device, lam)


@op
def stateless_binomial(
    shape: TensorLike, seed: TensorLike, counts: Any, probs: Any, output_dtype: DTypeLike = "int32"
) -> Any:
    """Return how many of `counts` trials succeed, as `seed` says, as `tf.random.stateless_binomial`.

    Args:
        shape: The shape, to which the parameters broadcast.
        seed: Two whole numbers.
        counts: The numbers of trials.
        probs: With which probability one succeeds.
        output_dtype: The dtype.
    """
    sizes, kind = lengths_of("shape", shape), as_dtype(output_dtype)

    def host(numbers: np.random.Generator) -> Any:
        return np.asarray(numbers.binomial(np.asarray(counts).astype(np.int64), probs, sizes)).astype(kind)[
            ()
        ]

    def device(key: Array) -> Any:
        import jax

        # JAX computes with floats here, and gives floats.
        trials, chances = on_device(counts, "float32"), on_device(probs, "float32")
        return jax.random.binomial(key, trials, chances, sizes).astype(device_dtype(kind))

    return _draw(seed, host, device, counts, probs)


@op
def stateless_categorical(
    logits: TensorLike, num_samples: int, seed: TensorLike, dtype: DTypeLike = "int64"
) -> Any:
    """Return classes drawn with probabilities that `logits` say, as `tf.random.stateless_categorical`.

    Args:
        logits: Unscaled logarithms of probabilities, shape `(examples, classes)`.
        num_samples: How many are drawn for every example.
        seed: Two whole numbers.
        dtype: The dtype; on a device int64 is int32.

    Returns:
        Whole numbers, shape `(examples, num_samples)`.
    """
    kind = as_dtype(dtype)

    def host(numbers: np.random.Generator) -> Any:
        # The largest of scores with Gumbel's noise is drawn with softmax' probabilities, so that nothing is normalized.
        scores = np.asarray(logits, np.float64)[:, None, :]
        noise = numbers.gumbel(size=(scores.shape[0], int(num_samples), scores.shape[2]))
        return np.argmax(scores + noise, -1).astype(kind)

    def device(key: Array) -> Any:
        import jax

        scores = on_device(logits)
        drawn = jax.random.categorical(key, scores[:, None, :], -1, (scores.shape[0], int(num_samples)))
        return drawn.astype(device_dtype(kind))

    return _draw(seed, host, device, logits)


@op
def stateless_shuffle(value: TensorLike, seed: TensorLike, alg: object = "auto_select") -> Any:
    """Return `value` with its first dimension in the order that `seed` says, as `stateless_shuffle` of `tf.random`."""

    def device(key: Array) -> Any:
        import jax

        return jax.random.permutation(key, on_device(value))

    return _draw(seed, lambda numbers: numbers.permutation(np.asarray(value)), device, value)


@raises_named
def index_shuffle(index: Any, seed: TensorLike, max_index: int) -> Any:
    """Return where an order that `seed` says puts an index, as `tf.random.experimental.index_shuffle`.

    Args:
        index: A whole number, or several, from 0 to `max_index`.
        seed: Two or more whole numbers.
        max_index: The largest index. TensorFlow needs no memory for the order, here all of it is made.
    """
    parts = np.asarray(seed).reshape(-1)
    # TensorFlow takes three numbers here, a key of JAX has room for two.
    pair = [int(parts[0]), int(np.bitwise_xor.reduce(parts[1:]))]

    def device(key: Array) -> Any:
        import jax

        # The whole order is made for one index; TensorFlow computes the one by a cipher.
        return jax.random.permutation(key, int(max_index) + 1)[on_device(index)]

    order = int(max_index) + 1
    return _draw(pair, lambda numbers: numbers.permutation(order).astype(np.int32)[index], device, index)


@raises_named
def split(seed: TensorLike, num: int = 2, alg: object = "auto_select") -> Any:
    """Return new seeds made of one, as `tf.random.split`.

    Args:
        seed: Two whole numbers.
        num: How many.
        alg: Ignored.

    Returns:
        Whole numbers, int32, shape `(num, 2)`.
    """
    (count,) = lengths_of("num", num)

    def device(key: Array) -> Any:
        import jax

        # Seeds are int32, keys uint32: the same bits.
        words = jax.random.key_data(jax.random.split(key, count))
        return jax.lax.bitcast_convert_type(words, "int32")

    return _draw(seed, lambda numbers: _host_words(numbers, (count, 2)), device)


@raises_named
def fold_in(seed: Any, data: Any, alg: object = "auto_select") -> Any:
    """Return the seed that one and a number make, as `tf.random.fold_in`.

    Args:
        seed: Two whole numbers.
        data: A whole number, such as a step's or a replica's.
        alg: Ignored.

    Returns:
        Two whole numbers, int32.
    """
    if is_made_on_host([seed, data]):
        # A generator of NumPy takes several numbers as its seed.
        return _host_words(generator([*(int(part) for part in np.asarray(seed)), int(data)]), (2,))
    import jax

    words = jax.random.key_data(jax.random.fold_in(key_of(seed), on_device(data)))
    return jax.lax.bitcast_convert_type(words, "int32")


def _host_words(numbers: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    return numbers.integers(0, 2**32, sizes, np.uint32).view(np.int32)


def as_seed(words: TensorLike) -> Any:
    """Return the state of a generator as a seed of these functions: int32 on a device."""
    import jax

    return jax.lax.bitcast_convert_type(on_device(words), "int32")
