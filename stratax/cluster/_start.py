"""How long tasks wait for one another at the start of a job (cluster layer)."""

import math
import os

from stratax.base.shown import shown
from stratax.errors import ClusterError

# The environment variable with the limit, in seconds.
START_VARIABLE = "STRATAX_START_TIMEOUT"

# TensorFlow's limit: machines of a job may come up one by one, and load their images first.
START_SECONDS = 3600.0


def start_seconds() -> float:
    """Return for how long tasks that have not started yet are waited for, in seconds.

    Raises:
        ClusterError: If the environment variable is no positive number.
    """
    text = os.environ.get(START_VARIABLE, "").strip()
    if not text:
        return START_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ClusterError(
            f"{START_VARIABLE} is for how long tasks that start late are waited for. Expected: seconds, such as 900. "
            f"Received: {shown(text)}."
        )
    return seconds
