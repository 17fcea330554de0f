"""Products of matrices, norms and clipping by them (ops layer). Products and clipping compute on a device."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax._typing import TensorLike
from stratax.ops._host import is_on_host
from stratax.ops._keras_ops import ops
from stratax.ops.creation import on_device
from stratax.ops.elementwise import sqrt, square
from stratax.ops.naming import nameable, of_same_rows
from stratax.ops.reductions import axes_of, reduce_sum


@nameable
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    name: str | None = None,
) -> Any:
    """Return the matrix product, on a device, as `tf.matmul`.

    Args:
        a: Matrices, shape `(..., m, k)`.
        b: Matrices, shape `(..., k, n)`.
        transpose_a: Whether the last two dimensions of `a` are swapped first.
        transpose_b: The same for `b`.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        An array of shape `(..., m, n)` on the device of the enclosing `tf.device`, or where the operands are.

    Example:
        >>> import stratax.tf as tf
        >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist()
        [[11.0]]
    """
    a, b = on_device(a), on_device(b)
    return ops.matmul(
        ops.swapaxes(a, -1, -2) if transpose_a else a, ops.swapaxes(b, -1, -2) if transpose_b else b
    )


@nameable
def tensordot(a: TensorLike, b: TensorLike, axes: object, name: str | None = None) -> Any:
    """Return the product of `a` and `b` summed over `axes`, on a device, as `tf.tensordot`."""
    return ops.tensordot(on_device(a), on_device(b), axes=axes)


def einsum(equation: str, *inputs: TensorLike) -> Any:
    """Sum of products by Einstein's notation, on a device, as `tf.einsum`."""
    return ops.einsum(equation, *(on_device(operand) for operand in inputs))


@nameable
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return the norm of vectors, as `tf.norm`.

    Args:
        tensor: An array.
        ord: `"euclidean"`, 1, 2 or infinity; as in NumPy for vectors.
        axis: The dimension of the vectors; None: all elements are one vector.
        keepdims: Whether the dimension stays, with size 1.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        An array without that dimension; on the host if `tensor` is.
    """
    if ord == "euclidean":
        return sqrt(reduce_sum(square(tensor), axis, bool(keepdims)))
    library: Any = np if is_on_host(tensor) else ops
    if axis is None:
        tensor = library.reshape(tensor, (-1,))
    norm_of = np.linalg.norm if library is np else ops.norm
    return norm_of(tensor, ord=ord, axis=axes_of(axis), keepdims=bool(keepdims))


@nameable
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: object = None, name: str | None = None) -> Any:
    """`t` scaled down to a norm of at most `clip_norm`, as `tf.clip_by_norm`; on a device.

    Args:
        t: An array.
        clip_norm: The largest norm, a number.
        axes: The dimensions that a norm is taken over; None: all.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        An array of t's shape.
    """
    array = on_device(t)
    squares = ops.sum(ops.square(array), axis=axes, keepdims=True)
    # A norm of 0 has no gradient; its own square root is never used.
    norm = ops.sqrt(ops.where(squares > 0, squares, 1.0))
    return of_same_rows(array * (clip_norm / ops.maximum(norm, clip_norm)), t)


@nameable
def global_norm(t_list: Sequence[Any], name: str | None = None) -> Any:
    """Return the norm of several arrays as if they were one, as `tf.linalg.global_norm`; None entries are left out."""
    arrays = [on_device(array) for array in t_list if array is not None]
    return ops.sqrt(sum((ops.sum(ops.square(array)) for array in arrays), start=on_device(0.0)))


@nameable
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: TensorLike, use_norm: TensorLike | None = None, name: str | None = None
) -> tuple[list[Any], Any]:
    """Return arrays scaled down together to a norm of at most `clip_norm`, as `tf.clip_by_global_norm`; on a device.

    Args:
        t_list: Arrays, such as gradients; None entries stay.
        clip_norm: The largest norm, a number.
        use_norm: The arrays' norm, if known already.
        name: By which hooks find the result, in a `model_fn`.

    Returns:
        The arrays, and the norm they had.
    """
    norm = global_norm(t_list) if use_norm is None else use_norm
    # 1 where the norm is small enough, without a division by zero.
    scale = clip_norm / ops.maximum(norm, clip_norm)
    clipped = [
        None if array is None else of_same_rows(_scaled(on_device(array), scale), array) for array in t_list
    ]
    return clipped, norm


def _scaled(array: Any, scale: Any) -> Any:
    # The norm may have a wider dtype; the arrays keep theirs.
    return array * ops.cast(scale, array.dtype)
