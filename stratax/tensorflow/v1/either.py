"""Names that TensorFlow 1 and 2 both have and mean different things by: the caller decides (v1 layer).

In a `model_fn`, and where arguments have TensorFlow 1's names, they are TensorFlow 1's; otherwise TensorFlow 2's.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import keras

from stratax.base.typing import DTypeLike
from stratax.tensorflow.v1 import _initializers, _losses, _mean_metrics
from stratax.tensorflow.v1._current import current_or_none

# The operands of Keras' losses.
_NEWER = ("y_true", "y_pred")
# TensorFlow 2's default, where TensorFlow 1 has 1.
_DEVIATION = 0.05


def _either(version_1: Callable[..., Any], version_2: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(version_1)
    def function(*args: object, **kwargs: object) -> Any:
        is_newer = any(name in kwargs for name in _NEWER) or (
            # Programs of TensorFlow 2 call losses with two operands; a model_fn is one of TensorFlow 1.
            current_or_none() is None and not kwargs and len(args) == len(_NEWER)
        )
        return (version_2 if is_newer else version_1)(*args, **kwargs)

    function.__doc__ = (
        f"{inspect.getdoc(version_1)}\n\nOutside of a `model_fn`, two arguments without names, or `y_true` and "
        f"`y_pred`, give what `tf.keras.losses.{version_2.__name__}` gives: a loss for each example."
    )
    return function


mean_squared_error_loss = _either(_losses.mean_squared_error, keras.losses.mean_squared_error)
mean_squared_error_metric = _either(_mean_metrics.mean_squared_error, keras.losses.mean_squared_error)
mean_absolute_error_metric = _either(_mean_metrics.mean_absolute_error, keras.losses.mean_absolute_error)


def _by_default(given: float | None, version_1: float, version_2: float) -> float:
    if given is not None:
        return given
    return version_2 if current_or_none() is None else version_1


class RandomNormal(_initializers.RandomNormal):
    """Gives normally distributed numbers, as `tf.random_normal_initializer`.

    Args:
        mean: Their mean.
        stddev: Their standard deviation; by default 0.05, as in TensorFlow 2, and 1 in a `model_fn`.
        seed: With a number every call gives the same numbers.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float | None = None,
        seed: int | None = None,
        dtype: DTypeLike | None = "float32",
    ) -> None:
        super().__init__(mean, _by_default(stddev, 1.0, _DEVIATION), seed, dtype)


class TruncatedNormal(_initializers.TruncatedNormal):
    """Gives normally distributed numbers at most two deviations away, as `tf.initializers.truncated_normal`.

    Args:
        mean: Their mean.
        stddev: Their standard deviation; by default 0.05, as in TensorFlow 2, and 1 in a `model_fn`.
        seed: With a number every call gives the same numbers.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float | None = None,
        seed: int | None = None,
        dtype: DTypeLike | None = "float32",
    ) -> None:
        super().__init__(mean, _by_default(stddev, 1.0, _DEVIATION), seed, dtype)


class RandomUniform(_initializers.RandomUniform):
    """Gives evenly distributed numbers, as `tf.random_uniform_initializer`.

    Args:
        minval: The lower end; by default -0.05, as in TensorFlow 2, and 0 in a `model_fn`.
        maxval: The upper end; by default 0.05, and in a `model_fn` 1, for floating-point numbers.
        seed: With a number every call gives the same numbers.
        dtype: The dtype where the call gives none.
    """

    def __init__(
        self, minval: Any = None, maxval: Any = None, seed: int | None = None, dtype: Any = "float32"
    ) -> None:
        if current_or_none() is None:
            maxval = _DEVIATION if maxval is None else maxval
        super().__init__(_by_default(minval, 0.0, -_DEVIATION), maxval, seed, dtype)
