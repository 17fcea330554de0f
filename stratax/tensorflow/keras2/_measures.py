"""Weights of metrics, and lists that losses are given, as Keras 2 counts and takes them (keras2 layer)."""

import functools
from collections.abc import Callable
from typing import Any

import keras

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.seams import keras2 as seam
from stratax.tensorflow.keras2 import _lists


def install() -> None:
    """Put the functions in place; safe to call again."""
    seam.widen("keras.src.metrics.reduction_metrics:reduce_to_samplewise_values", _with_one_weight)
    seam.widen("keras.src.metrics.iou_metrics:_IoUBase.__init__", _with_fractions)
    seam.widen("keras:Loss.__call__", _of_lists)


def _with_one_weight(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let one weight be that of each value: Keras 3 gives it to their mean, whatever their number."""

    @functools.wraps(original)
    def reduce(values: Any, sample_weight: Any, reduce_fn: Callable[..., Any], dtype: DTypeLike) -> Any:
        if sample_weight is not None and not keras.ops.ndim(sample_weight) and keras.ops.ndim(values):
            sample_weight = keras.ops.broadcast_to(sample_weight, keras.ops.shape(values)[:1])
        return original(values, sample_weight, reduce_fn, dtype)

    return reduce


def _with_fractions(original: Callable[..., None]) -> Callable[..., None]:
    """Let an intersection over union count by weights that are fractions, which Keras 3 cuts off."""

    @functools.wraps(original)
    def __init__(self: object, *args: object, dtype: DTypeLike | None = None, **kwargs: object) -> None:
        original(self, *args, dtype=dtype or keras.config.floatx(), **kwargs)

    return __init__


def _of_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, y_true: TensorLike, y_pred: TensorLike, sample_weight: Any = None) -> Any:
        if y_true is None:
            raise BadArgumentError(
                f"Target data is missing. The loss {shown(self.name)} compares what a model gives with labels. "
                "Received: y=None. Pass y, or a dataset of pairs (x, y)."
            )
        return original(
            self, _lists.as_tensor(y_true), _lists.as_tensor(y_pred), _lists.as_tensor(sample_weight)
        )

    return __call__
