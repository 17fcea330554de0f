"""Operations on two small arrays, by their names in `tf`, for Stratax and for TensorFlow. Imports neither."""

from collections.abc import Callable
from typing import Any

import numpy as np


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return two matrices that can be added and multiplied."""
    first = np.arange(16, dtype=np.float32).reshape(4, 4)
    return first, first + 1


def program(tf: Any, name: str) -> Callable[[], Any]:
    """Return what calls an operation of a `tf` once."""
    x, y = map(tf.constant, arrays())
    calls = {
        "add": lambda: tf.add(x, y),
        "relu": lambda: tf.nn.relu(x),
        "softmax": lambda: tf.nn.softmax(x),
        "matmul": lambda: tf.matmul(x, y),
        "reduce_sum": lambda: tf.reduce_sum(x),
    }
    return calls[name]
