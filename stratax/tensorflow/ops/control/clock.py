"""The time of day (ops layer)."""

import time
from typing import Any

import numpy as np

from stratax.core.regions import executing_eagerly
from stratax.errors import TracingError


def timestamp(name: str | None = None) -> Any:
    """Return the seconds since 1970, a float64 on the host, as `tf.timestamp`.

    Args:
        name: Ignored.

    Raises:
        TracingError: In a compiled function, whose devices have no clock and no numbers precise enough for it.
    """
    del name
    if not executing_eagerly():
        raise TracingError(
            "`tf.timestamp` tells the time on the host, and a compiled function runs on devices, which have no clock. "
            "Call it before and after the function."
        )
    return np.float64(time.time())
