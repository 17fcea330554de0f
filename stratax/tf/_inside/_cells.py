"""What copies of TensorFlow's loops over time take of `tensorflow.python.ops.rnn_cell_impl` (tf layer)."""

import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError


def _concat(prefix: object, suffix: object, static: bool = False) -> list[int]:
    """Return the sizes of two shapes, one behind the other.

    Args:
        prefix: A shape, or a size.
        suffix: Likewise.
        static: Ignored: sizes are known.
    """
    return [int(size) for part in (prefix, suffix) for size in np.atleast_1d(np.asarray(part, np.int64))]


def _like_rnncell(cell: object) -> bool:
    """Return whether an object has what a cell has."""
    return callable(cell) and all(hasattr(cell, name) for name in ("output_size", "state_size", "zero_state"))


def assert_like_rnncell(cell_name: str, cell: object) -> None:
    """Raise an error for what is no cell.

    Raises:
        BadTypeError: If it lacks what a cell has.
    """
    if not _like_rnncell(cell):
        raise BadTypeError(f"The argument {shown(cell_name)} ({shown(cell)}) is not an RNNCell.")
