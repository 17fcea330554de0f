"""Arrays as messages: `tf.make_tensor_proto` and `tf.make_ndarray` (ops layer)."""

from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike, TensorLike
from stratax.data.elements import as_array
from stratax.errors import BadArgumentError
from stratax.summary.forms import tensorboard
from stratax.tensorflow.ops.calls.dtypes import as_dtype


def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Return an array as a `TensorProto`, as `tf.make_tensor_proto`.

    Args:
        values: An array, a number, text, `bytes`, or lists of them.
        dtype: Its dtype; by default that of the values, and 32 bits for numbers and lists.
        shape: Its shape; by default that of the values. Where it has more elements, the last value fills it up.
        verify_shape: Whether the values must have the shape already.
        allow_broadcast: Ignored.

    Returns:
        TensorBoard's message of that name, which is TensorFlow's.

    Raises:
        BadArgumentError: If the values have another shape, or there are too many.
    """
    # NumPy would make strings of fixed length of text.
    array = np.asarray(values, object) if _is_text(values) else np.asarray(as_array(values))
    if dtype is not None:
        array = array.astype(np.dtype(as_dtype(dtype)))
    if shape is not None:
        array = _fit_shape(array, tuple(int(size) for size in shape), verify_shape)
    # TensorBoard has this function of TensorFlow's, with the messages that it needs.
    return tensorboard("util.tensor_util").make_tensor_proto(array)


def _is_text(values: TensorLike) -> bool:
    return np.asarray(values).dtype.kind in "SUO"


def _fit_shape(array: np.ndarray, shape: tuple[int, ...], verify_shape: bool) -> np.ndarray:
    size = int(np.prod(shape))
    if (verify_shape and array.shape != shape) or array.size > size:
        raise BadArgumentError(
            f"Expected Tensor's shape: {shown(shape)}, got {shown(array.shape)}. Pass as many values."
        )
    flat = array.reshape(-1)
    # In TensorFlow the last value goes on where the shape has more.
    more = np.repeat(flat[-1:], size - flat.size)
    return np.concatenate([flat, more]).reshape(shape)


def make_ndarray(tensor: Any) -> np.ndarray:
    """Return the array of a `TensorProto`, as `tf.make_ndarray`.

    Args:
        tensor: The message, such as a summary's.
    """
    found: np.ndarray = tensorboard("util.tensor_util").make_ndarray(tensor)
    return found
