"""Check the arguments that several readers have: names of files, how much to read at a time (data layer)."""

import os
from typing import Any

import numpy as np

from stratax.data.dataset import Dataset
from stratax.data.elements import AUTOTUNE
from stratax.data.plan import Node, as_count, num_cores
from stratax.data.sources import list_names
from stratax.io import as_file_name

_MAX_AUTOTUNED = 16


def names_node(filenames: Any) -> Node:
    """Return the node that gives the names of `filenames`: a name, a sequence of names, or a Dataset of names.

    Raises:
        BadTypeError: A name is not a string or a path.
    """
    if isinstance(filenames, Dataset):
        return filenames._node
    if isinstance(filenames, str | bytes | os.PathLike) or np.ndim(filenames) == 0:
        filenames = [filenames]
    elif isinstance(filenames, np.ndarray):
        filenames = filenames.ravel().tolist()
    return list_names("FileNames", [as_file_name(name) for name in filenames])


def as_buffer_size(buffer_size: object, default: int) -> int:
    """Return how many bytes to read at once: `default` for None or 0.

    Raises:
        BadArgumentError: It is negative.
    """
    return as_count("buffer_size", buffer_size, 0) or default if buffer_size is not None else default


def as_parallel_reads(num_parallel_reads: object) -> int:
    """Return how many files to read at a time.

    Raises:
        BadArgumentError: It is neither positive nor AUTOTUNE.
    """
    if num_parallel_reads is None:
        return 1
    if num_parallel_reads == AUTOTUNE:
        # Each file has a thread and a piece in memory, so there is a limit.
        return min(_MAX_AUTOTUNED, num_cores())
    return as_count("num_parallel_reads", num_parallel_reads, 1)
