"""Names of `tf.contrib.layers` that are others with some arguments given."""

import functools
from collections.abc import Callable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.contrib._layers import fully_connected
from stratax.tensorflow.ops.nn import nn

# TensorFlow's are partials, too: a scope gives defaults to `fully_connected`.
linear = functools.partial(fully_connected, activation_fn=None)
relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
elu = functools.partial(fully_connected, activation_fn=nn.elu)


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: Any = "float32",
) -> Callable[..., Any]:
    """Return an initializer whose numbers' variance follows from the shape, as contrib's.

    Args:
        factor: The variance is this, divided by the number of what `mode` says.
        mode: `"FAN_IN"`, `"FAN_OUT"` or `"FAN_AVG"`.
        uniform: Whether numbers are evenly distributed, and not normally.
        seed: None for other numbers on every call.
        dtype: The dtype where the call gives none.

    Raises:
        BadArgumentError: If `mode` is none of these.
    """
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise errors.BadArgumentError(
            f"mode must be FAN_IN, FAN_OUT or FAN_AVG. Received: mode={shown(mode)}."
        )
    return v1.variance_scaling_initializer(
        factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype
    )
