"""Products of matrices, norms and clipping by them (ops layer). Products and clipping compute on a device.

Products of what a pipeline's function has on the host stay there.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._computed import as_floating, call_with_library, whole_number
from stratax.tensorflow.ops.calls._host import host_array, is_made_on_host, is_numpy
from stratax.tensorflow.ops.calls._keras_ops import ops
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.calls.dtypes import device_dtype
from stratax.tensorflow.ops.calls.naming import of_same_rows
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.elementwise import divide
from stratax.tensorflow.ops.math.reductions import axes_of


@op(arrays=["a", "b"], sends=True)
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
) -> Any:
    """Return the matrix product, on a device, as `tf.matmul`.

    Args:
        a: Matrices, shape `(..., m, k)`.
        b: Matrices, shape `(..., k, n)`.
        transpose_a: Whether the last two dimensions of `a` are swapped first.
        transpose_b: The same for `b`.
        adjoint_a: Whether `a` is transposed and conjugated first.
        adjoint_b: The same for `b`.
        a_is_sparse: Ignored.
        b_is_sparse: Ignored.
        output_type: The dtype of the result, such as int32 of int8 matrices; None for theirs.
        grad_a: Ignored.
        grad_b: Ignored.

    Returns:
        An array of shape `(..., m, n)` on the device of the enclosing `tf.device`, or where the operands are.

    Raises:
        BadArgumentError: If an operand is no matrix, or is to be both transposed and adjoint.

    Example:
        >>> import stratax.tf as tf
        >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist()
        [[11.0]]
    """
    left = _operand(a, "a", transpose_a, adjoint_a)
    right = _operand(b, "b", transpose_b, adjoint_b)
    # Both or none: a product with an array of a device is computed there.
    if is_numpy(left) and is_numpy(right):
        product = np.matmul(left, right)
        return product if output_type is None else product.astype(output_type)
    left, right = on_device(left), on_device(right)
    if output_type is not None:
        left, right = ops.cast(left, device_dtype(output_type)), ops.cast(right, device_dtype(output_type))
    return ops.matmul(left, right)


def _operand(value: TensorLike, name: str, is_transposed: bool, is_adjoint: bool) -> Any:
    # In a pipeline numbers stay on the host.
    is_host = is_made_on_host(value)
    matrix = host_array(value) if is_host else on_device(value)
    if len(matrix.shape) < 2 or (is_transposed and is_adjoint):
        raise BadArgumentError(
            f"Operands have two dimensions at least, and are transposed or adjoint, not both. Received: {name} of "
            f"shape {tuple(matrix.shape)}. For vectors use tf.linalg.matvec or tf.tensordot."
        )
    library: Any = np if is_host else ops
    if is_transposed or is_adjoint:
        matrix = library.swapaxes(matrix, -1, -2)
    return library.conj(matrix) if is_adjoint else matrix


@op(arrays=["a", "b"], sends=True)
def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
) -> Any:
    """Return the products of matrices and vectors, on a device, as `tf.linalg.matvec`.

    Args:
        a: Matrices, shape `(..., m, n)`.
        b: Vectors, shape `(..., n)`.
        transpose_a: Whether the last two dimensions of `a` are swapped first.
        adjoint_a: Whether `a` is transposed and conjugated first.
        a_is_sparse: Ignored.
        b_is_sparse: Ignored.

    Returns:
        Shape `(..., m)`.
    """
    matrix = _operand(a, "a", transpose_a, adjoint_a)
    return ops.squeeze(ops.matmul(matrix, ops.expand_dims(on_device(b), -1)), -1)


@op
def tensordot(a: TensorLike, b: TensorLike, axes: Any) -> Any:
    """Return the product of `a` and `b` summed over `axes`, on a device, as `tf.tensordot`.

    Raises:
        BadArgumentError: If `axes` is a negative number.
    """
    if not isinstance(axes, list | tuple) and np.ndim(axes) == 0 and whole_number("axes", axes) < 0:
        raise BadArgumentError(f"`axes` must be at least 0. Received: {shown(axes)}.")
    if is_made_on_host([a, b]):
        return np.tensordot(host_array(a), host_array(b), axes=axes)
    return ops.tensordot(on_device(a), on_device(b), axes=axes)


@op(arrays=["*inputs"], sends=True)
def einsum(equation: str, *inputs: TensorLike, optimize: str = "greedy") -> Any:
    """Return a sum of products by Einstein's notation, on a device, as `tf.einsum`.

    Args:
        equation: As `"ij,jk->ik"`.
        *inputs: An array for each part of it.
        optimize: Ignored: JAX looks for a good order of products itself.

    Raises:
        BadArgumentError: If the arrays do not fit it: JAX repeats dimensions of size 1.
    """
    arrays = [on_device(operand) for operand in inputs]
    _check_terms(equation, arrays)
    return ops.einsum(equation, *arrays)


def _check_terms(equation: object, arrays: Sequence[Any]) -> None:
    if not isinstance(equation, str):
        raise BadTypeError(f"An equation is text, such as 'ij,jk->ik'. Received: equation={shown(equation)}.")
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    if len(terms) != len(arrays):
        raise BadArgumentError(
            f"An equation has a part for each array. Expected: {len(terms)} for {shown(equation)}. Received: "
            f"{len(arrays)}."
        )
    found: dict[str, int | None] = {}
    for place, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        # Dimensions for which dots stand are left out of the comparison: they may broadcast.
        before, dots, behind = term.partition("...")
        sizes = tuple(array.shape)
        labels, rank = len(before) + len(behind), len(sizes)
        if rank < labels or (not dots and rank != labels):
            more = " at least" if dots else ""
            raise BadArgumentError(
                f"Expected input {place} to have rank {labels}{more} but got: {rank}. Received: "
                f"equation={shown(equation)}, an array of shape {sizes}."
            )
        shape = (*sizes[: len(before)], *sizes[rank - len(behind) :])
        for label, size in zip(before + behind, shape, strict=True):
            known = found.setdefault(label, size)
            if size is not None and known is not None and known != size:
                raise BadArgumentError(
                    f"Expected dimension {known} for {shown(label)} of {shown(equation)} but got dimension {size}. "
                    f"Received: input {place} of shape {sizes}."
                )


@op
def norm(
    tensor: TensorLike, ord: float | str = "euclidean", axis: Axis = None, keepdims: bool | None = None
) -> Any:
    """Return the norm of vectors or matrices, as `tf.norm`.

    Args:
        tensor: An array.
        ord: `"euclidean"`, or a positive number, such as 1, 2 or infinity; of matrices also `"fro"`, and 1, 2 and
            infinity mean the norms of operators.
        axis: The dimension of the vectors, or the two of the matrices; None: all elements are one vector.
        keepdims: Whether the dimension stays, with size 1.

    Returns:
        An array without that dimension; on the host if `tensor` is.

    Raises:
        BadArgumentError: If there is no such norm.
    """
    axes = axes_of(axis)
    # Two dimensions in a tuple are those of matrices, one number that of vectors.
    is_matrix = isinstance(axes, tuple)
    is_known = ord in (_MATRIX_NORMS if is_matrix else ("euclidean",)) or (
        not is_matrix and not isinstance(ord, str) and ord > 0
    )
    if not is_known or (is_matrix and len(axes) != 2):
        raise BadArgumentError(
            f"A norm of vectors is 'euclidean' or a positive number, one of matrices is of {_MATRIX_NORMS}. Received: "
            f"ord={shown(ord)}, axis={shown(axis)}."
        )
    return call_with_library(_norm, tensor, ord=ord, axes=axes, keepdims=bool(keepdims))


# Those that TensorFlow has; NumPy has more.
_MATRIX_NORMS = ("euclidean", "fro", 1, 2, np.inf)


def _norm(library: ModuleType, array: Array, ord: Any, axes: Axis, keepdims: bool) -> Any:
    array = as_floating(array)
    sizes = library.abs(array)
    if ord in ("euclidean", "fro") or (ord == 2 and not isinstance(axes, tuple)):
        # Of complex numbers TensorFlow's is complex.
        return library.sqrt(library.sum(library.square(sizes), axis=axes, keepdims=keepdims)).astype(
            array.dtype
        )
    if isinstance(axes, tuple):
        # Norms of operators: largest sums of columns, of rows, or the largest singular value.
        return library.linalg.norm(array, ord=ord, axis=axes, keepdims=keepdims)
    if ord == np.inf:
        return library.max(sizes, axis=axes, keepdims=keepdims)
    # Of any other order: the root of the sum of powers.
    return library.sum(sizes**ord, axis=axes, keepdims=keepdims) ** (1 / ord)


@op(is_told=False, is_raw=True)
def normalize(tensor: TensorLike, ord: float | str = "euclidean", axis: Axis = None) -> tuple[Any, Any]:
    """Return an array divided by its norm, and the norm, as `tf.linalg.normalize`; arguments as :func:`norm`."""
    length = norm(tensor, ord, axis, keepdims=True)
    return divide(tensor, length), length


@op
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: object = None) -> Any:
    """`t` scaled down to a norm of at most `clip_norm`, as `tf.clip_by_norm`; on a device.

    Args:
        t: An array.
        clip_norm: The largest norm, a number.
        axes: The dimensions that a norm is taken over; None: all.

    Returns:
        An array of t's shape.
    """
    array = on_device(t)
    squares = ops.sum(ops.square(array), axis=axes, keepdims=True)
    # A norm of 0 has no gradient; its own square root is never used.
    norm = ops.sqrt(ops.where(squares > 0, squares, 1.0))
    # A negative limit clips to 0.
    most = ops.maximum(clip_norm, 0)
    return of_same_rows(array * (most / ops.maximum(norm, most)), t)


@op
def global_norm(t_list: Sequence[Any]) -> Any:
    """Return the norm of several arrays as if they were one, as `tf.linalg.global_norm`; None entries are left out."""
    arrays = [on_device(array) for array in t_list if array is not None]
    return ops.sqrt(sum((ops.sum(ops.square(array)) for array in arrays), start=on_device(0.0)))


@op
def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: TensorLike, use_norm: TensorLike | None = None
) -> tuple[list[Any], Any]:
    """Return arrays scaled down together to a norm of at most `clip_norm`, as `tf.clip_by_global_norm`; on a device.

    Args:
        t_list: Arrays, such as gradients; None entries stay.
        clip_norm: The largest norm, a number.
        use_norm: The arrays' norm, if known already.

    Returns:
        The arrays, and the norm they had.

    Raises:
        BadTypeError: If `t_list` is no list.
    """
    if not isinstance(t_list, list | tuple):
        raise BadTypeError(
            f"t_list must be a list of arrays. Received: t_list={shown(t_list)}. Put it into a list."
        )
    norm = global_norm(t_list) if use_norm is None else use_norm
    # 1 where the norm is small enough, without a division by zero.
    scale = clip_norm / ops.maximum(norm, clip_norm)
    clipped = [
        None if array is None else of_same_rows(_scale(on_device(array), scale), array) for array in t_list
    ]
    return clipped, norm


def _scale(array: Array, scale: TensorLike) -> Any:
    # The norm may have a wider dtype; the arrays keep theirs.
    array = as_floating(array)
    return array * ops.cast(scale, array.dtype)
