"""Poolings of windows whose sizes are drawn: `tf.nn.fractional_max_pool` and its like (ops layer). On a device.

The procedure is that of Graham, "Fractional Max-Pooling" (2014): windows along a dimension are of two neighbouring
sizes, in an order that is drawn. With a seed the order is TensorFlow's.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.random import _philox
from stratax.tensorflow.ops.random._seeds import seeds_for, source_of


class FractionalMaxPool(NamedTuple):
    """What :func:`fractional_max_pool` returns.

    Attributes:
        output: The largest elements, shape `(batch, rows, columns, channels)`.
        row_pooling_sequence: Where windows begin along the rows, and the end: one more than there are windows.
        col_pooling_sequence: Likewise, along the columns.
    """

    output: Any
    row_pooling_sequence: Any
    col_pooling_sequence: Any


class FractionalAvgPool(NamedTuple):
    """What :func:`fractional_avg_pool` returns, as :class:`FractionalMaxPool`."""

    output: Any
    row_pooling_sequence: Any
    col_pooling_sequence: Any


# A ratio for rows and columns, two, or four of which those of the batch and the channels are 1.
_Ratio = float | Sequence[float]


def _ratios(given: Any) -> tuple[float, float]:
    ratios = [float(each) for each in np.atleast_1d(np.asarray(given))]
    if len(ratios) in (1, 2):
        ratios = [1.0, *(ratios * (3 - len(ratios))), 1.0]
    if len(ratios) != 4 or min(ratios) < 1 or ratios[0] != 1 or ratios[3] != 1:
        raise BadArgumentError(
            "pooling_ratio is a number of at least 1, two of them (rows, columns) or four, of which the first and the "
            f"last are 1: neither batch nor channels are pooled. Received: pooling_ratio={shown(given)}."
        )
    return ratios[1], ratios[2]


class _Drawn:
    """Where windows begin, drawn with TensorFlow's seeds.

    Args:
        seeds: The seeds; None for those of a generator.
    """

    def __init__(self, seeds: _philox.Seeds | None) -> None:
        self._seeds = seeds
        # In counters, of four words each.
        self._start = 0

    def __call__(self, size: int, count: int, is_pseudo: bool) -> Any:
        """Return `count + 1` numbers: where windows begin, and the size of the dimension."""
        return self._pseudo(size, count) if is_pseudo else self._random(size, count)

    def _random(self, size: int, count: int) -> Any:
        # As many of the larger size as there are elements left, in any order.
        lengths = size // count + (np.arange(count) < size % count)
        if self._seeds is None:
            lengths = keras.random.shuffle(jnp.asarray(lengths, "int32"), seed=source_of(None))
            return jnp.concatenate([jnp.zeros(1, "int32"), jnp.cumsum(lengths)])
        order = _philox.permutation(self._seeds, self._start, count)
        self._start += -(-count // 4)
        return np.concatenate([[0], np.cumsum(lengths[order])])

    def _pseudo(self, size: int, count: int) -> Any:
        ratio, least = size / count, size // count
        most = min((least + 2) / ratio - 1, (size + 1 - least) / ratio - (count - 1))
        places = np.arange(1, count)
        if self._seeds is None:
            shift = keras.random.uniform((), maxval=most, seed=source_of(None))
            inner = jnp.ceil(ratio * (places + shift)).astype("int32") - 1
            return jnp.concatenate([jnp.zeros(1, "int32"), inner, jnp.full(1, size, "int32")])
        shift = _philox.uniform(self._seeds, self._start, (), np.dtype(np.float64)) * most
        self._start += 1
        return np.concatenate([[0], np.ceil(ratio * (places + shift)).astype(np.int64) - 1, [size]])


def _pool(
    reduce: Callable[[Array, Array], Any],
    value: TensorLike,
    pooling_ratio: _Ratio,
    pseudo_random: bool,
    overlapping: bool,
    seeds: _philox.Seeds | None,
) -> tuple[Any, Any, Any]:
    """Pool with windows that are drawn.

    Args:
        reduce: Makes an element of those of a window, of shape `(..., elements, channels)`, and which of them count.
        value: Images.
        pooling_ratio: How much smaller they become.
        pseudo_random: Whether sizes alternate as evenly as a number that is drawn says.
        overlapping: Whether a window has the first element of the next one, too.
        seeds: TensorFlow's; None for a generator's.
    """
    array = on_device(value)
    if array.ndim != 4:
        raise BadArgumentError(
            f"value has a batch, rows, columns and channels. Received: value of shape {array.shape}."
        )
    sizes = array.shape[1:3]
    counts = [math.floor(size / ratio) for size, ratio in zip(sizes, _ratios(pooling_ratio), strict=True)]
    if 0 in counts:
        raise BadArgumentError(
            f"No window is left. Expected: at least {shown(pooling_ratio)} rows and columns. Received: value of shape "
            f"{array.shape}."
        )
    draw = _Drawn(seeds)
    drawn = [draw(size, count, pseudo_random) for size, count in zip(sizes, counts, strict=True)]
    places, counted = [], []
    for begins, size, count in zip(drawn, sizes, counts, strict=True):
        # Sizes are `size // count` or one more.
        width = size // count + (size % count > 0) + overlapping
        ends = begins[1:] + overlapping
        where = begins[:-1, None] + jnp.arange(width)
        counted.append((where < ends[:, None]) & (where < size))
        places.append(jnp.minimum(where, size - 1))
    rows, columns = places
    # Shape (batch, rows, columns, rows of a window, columns of a window, channels).
    cells = array[:, rows[:, None, :, None], columns[None, :, None, :]]
    is_counted = counted[0][:, None, :, None] & counted[1][None, :, None, :]
    merged = math.prod(cells.shape[3:5])
    output = reduce(
        cells.reshape(*cells.shape[:3], merged, cells.shape[-1]),
        is_counted.reshape(1, *cells.shape[1:3], merged, 1),
    )
    return output, *drawn


def _largest(cells: Array, is_counted: Array) -> Any:
    is_real = jnp.issubdtype(cells.dtype, jnp.floating)
    least = -jnp.inf if is_real else jnp.iinfo(cells.dtype).min
    # By its place, so that of several that are alike the first one has the gradient.
    best = jnp.argmax(jnp.where(is_counted, cells, least), axis=-2, keepdims=True)
    return jnp.take_along_axis(cells, best, axis=-2)[..., 0, :]


def _mean(cells: Array, is_counted: Array) -> Any:
    total = jnp.sum(jnp.where(is_counted, cells, 0), axis=-2, dtype=cells.dtype)
    count = jnp.sum(is_counted, axis=-2).astype(cells.dtype)
    return total / count if jnp.issubdtype(cells.dtype, jnp.floating) else jax.lax.div(total, count)


def _seeds_of(seed: int) -> _philox.Seeds | None:
    # TensorFlow's default of 0 asks for another order in each call.
    return seeds_for(int(seed)) if seed else None


@op
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: _Ratio,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
) -> FractionalMaxPool:
    """Return the largest element of each window, whose sizes are drawn, as `tf.nn.fractional_max_pool`.

    Args:
        value: Images, shape `(batch, rows, columns, channels)`.
        pooling_ratio: How much smaller images become, at least 1: one number, two, or four for all dimensions.
        pseudo_random: Whether the sizes of windows alternate evenly, rather than in any order.
        overlapping: Whether a window has the first element of the next one, too.
        seed: With one, all calls draw the same, which TensorFlow draws; 0 for others in each call.

    Raises:
        BadArgumentError: The value has no four dimensions, or the ratio does not fit.

    Example:
        >>> import stratax.tf as tf
        >>> pooled = tf.nn.fractional_max_pool(tf.ones([1, 9, 9, 1]), 1.5, seed=3)
        >>> pooled.output.shape, pooled.row_pooling_sequence.shape
        (TensorShape([1, 6, 6, 1]), TensorShape([7]))
    """
    given = (value, pooling_ratio, bool(pseudo_random), bool(overlapping))
    return FractionalMaxPool(*_pool(_largest, *given, _seeds_of(seed)))


@op
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: _Ratio,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
) -> FractionalAvgPool:
    """Return the mean of each window, whose sizes are drawn, as `tf.nn.fractional_avg_pool`.

    The arguments are those of :func:`fractional_max_pool`.
    """
    given = (value, pooling_ratio, bool(pseudo_random), bool(overlapping))
    return FractionalAvgPool(*_pool(_mean, *given, _seeds_of(seed)))
