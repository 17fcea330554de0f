"""Functions of whole files, whose contents are tensors in programs of TensorFlow's (ops layer)."""

from typing import Any

from stratax.base.typing import StrPath
from stratax.data.elements import as_objects
from stratax.io import gfile
from stratax.tensorflow.ops.calls.op import op


@op(is_told=False)
def read_file(filename: StrPath) -> Any:
    """Return the content of a file, as `tf.io.read_file`: `bytes` with the methods of a tensor.

    Args:
        filename: A path or URL; also `bytes`, as the functions of a pipeline get it.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it can't be read.
    """
    return gfile.read_file(filename)


@op(is_told=False)
def matching_files(pattern: Any) -> Any:
    """Return the paths that fit a pattern, or one of several, sorted, as `tf.io.matching_files`.

    Args:
        pattern: A pattern such as `folder/*.txt`, or several.

    Returns:
        An array of `bytes`.
    """
    return as_objects(gfile.matching_files(pattern))
