"""Files whose names fit a pattern (io layer)."""

import glob as standard_glob
import os
from typing import Any

import numpy as np

from stratax.io import unfinished
from stratax.io._access import as_file_name, local_path, reading, remote_path


def glob(pattern: Any) -> list[str]:
    """Return the paths that fit a pattern, or one of several, as `tf.io.gfile.glob`; sorted.

    Args:
        pattern: A path or URL, or a list of them, with `*`, `?`, `[...]` and `[^...]`, which do not stand for a `/`.
            Hidden files, such as half written ones, fit only patterns that begin with a dot, too.

    Returns:
        The paths and URLs; none if nothing fits.

    Example:
        >>> import os, tempfile
        >>> from stratax.data import TFRecordWriter
        >>> folder = tempfile.mkdtemp()
        >>> for name in ("train-0", "train-1", "test"):
        ...     TFRecordWriter(os.path.join(folder, name)).close()
        >>> [os.path.basename(path) for path in glob(os.path.join(folder, "train-*"))]
        ['train-0', 'train-1']
    """
    if is_list(pattern):
        return sorted(path for one in pattern for path in _matches(as_file_name(one)))
    return sorted(_matches(as_file_name(pattern)))


def is_list(pattern: Any) -> bool:
    """Return whether it is several patterns."""
    return isinstance(pattern, list | tuple) or np.ndim(pattern) > 0


def _matches(pattern: str) -> list[str]:
    # TensorFlow's negation; Python's `fnmatch` knows the exclamation mark only.
    pattern = pattern.replace("[^", "[!")
    path = local_path(pattern)
    if path is not None:
        unfinished.wait_for(_before_wildcards(path))
        return standard_glob.glob(path)
    filesystem, inner = remote_path(pattern)
    with reading(pattern):
        found = [filesystem.unstrip_protocol(name) for name in filesystem.glob(inner)]
    # As for local files, whose `*` leaves out hidden names.
    return found if _is_hidden(pattern) else [name for name in found if not _is_hidden(name)]


def _before_wildcards(pattern: str) -> str:
    while standard_glob.has_magic(pattern):
        pattern = os.path.dirname(pattern)
    return pattern or os.curdir


def _is_hidden(name: str) -> bool:
    return name.rpartition("/")[2].startswith(".")
