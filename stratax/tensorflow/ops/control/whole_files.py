"""Functions of whole files, whose contents are tensors in programs of TensorFlow's (ops layer)."""

from typing import Any

from stratax.base.typing import StrPath
from stratax.data.elements import as_objects
from stratax.data.vectorise import gives_tensors
from stratax.io import gfile


@gives_tensors
def read_file(filename: StrPath, name: str | None = None) -> Any:
    """Return the content of a file, as `tf.io.read_file`: `bytes` with the methods of a tensor.

    Args:
        filename: A path or URL; also `bytes`, as the functions of a pipeline get it.
        name: Ignored.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it can't be read.
    """
    return gfile.read_file(filename)


@gives_tensors
def matching_files(pattern: Any, name: str | None = None) -> Any:
    """Return the paths that fit a pattern, or one of several, sorted, as `tf.io.matching_files`.

    Args:
        pattern: A pattern such as `folder/*.txt`, or several.
        name: Ignored.

    Returns:
        An array of `bytes`.
    """
    return as_objects(gfile.matching_files(pattern))
