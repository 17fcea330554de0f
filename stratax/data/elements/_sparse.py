"""SparseTensor: values with their indices, as `VarLenFeature` gives them (data layer)."""

from typing import Any, NamedTuple

import numpy as np

from stratax._bounds import check_bytes
from stratax._recording import recordable
from stratax._shown import shown
from stratax.data.elements._structure import as_array
from stratax.data.elements._tensor_shape import TensorShape
from stratax.data.elements._text import as_tensor, has_tensors
from stratax.errors import BadArgumentError, BadTypeError


class _Parts(NamedTuple):
    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(_Parts):
    """Values and where they stand in an array that is mostly empty, as `tf.sparse.SparseTensor`; NumPy, on the host.

    A namedtuple, so it may be (part of) an element of a Dataset. Elements whose numbers of values differ can't be
    batched as they are: parse batches with `parse_example`, or make them dense and use `padded_batch`.

    Attributes:
        indices: int64, shape `(values, rank)`, in row-major order.
        values: Shape `(values,)`.
        dense_shape: int64, shape `(rank,)`.

    Example:
        >>> import numpy as np
        >>> from stratax.data import SparseTensor, sparse_to_dense
        >>> sparse_to_dense(SparseTensor(np.array([[0, 1], [1, 0]]), np.array([5, 6]), np.array([2, 2])))
        array([[0, 5],
               [6, 0]])
    """

    __slots__ = ()

    def __new__(cls, indices: Any, values: Any, dense_shape: Any) -> "SparseTensor":
        """Make one of its parts; lists become arrays."""
        return super().__new__(
            cls, _as_part(indices, np.int64), _as_part(values), _as_part(dense_shape, np.int64)
        )

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return np.asarray(self.values).dtype

    @property
    def shape(self) -> TensorShape:
        """The dense shape."""
        return TensorShape(int(size) for size in self.dense_shape)

    def get_shape(self) -> TensorShape:
        """Return the dense shape."""
        return self.shape

    def with_values(self, new_values: Any) -> "SparseTensor":
        """Return the same indices with other values.

        Raises:
            BadArgumentError: There are not as many.
        """
        if len(new_values) != len(self.values):
            raise BadArgumentError(
                f"New values of a SparseTensor are as many as the old ones. Expected: {len(self.values)}. "
                f"Received: {len(new_values)}."
            )
        return self._replace(values=new_values)

    # NumPy's arrays leave operators to this class.
    __array_ufunc__ = None

    def __mul__(self, other: Any) -> "SparseTensor":  # type: ignore[override]
        """Return the products of the values with a dense array that broadcasts to the shape, as TensorFlow."""
        return self._replace(values=self.values * _at_values(self, other))

    __rmul__ = __mul__  # type: ignore[assignment]

    def __truediv__(self, other: Any) -> "SparseTensor":
        """Return the quotients of the values and a dense array that broadcasts to the shape, as TensorFlow."""
        return self._replace(values=self.values / _at_values(self, other))

    def __add__(self, other: Any) -> Any:
        """Raise, as TensorFlow does: a tuple would be joined.

        Raises:
            BadTypeError: Always.
        """
        raise BadTypeError(
            "A SparseTensor has no operator +. Expected: tf.sparse.add(a, b), or * and / with a dense array. "
            f"Received: {shown(other)}."
        )

    __radd__ = __add__

    def __repr__(self) -> str:
        parts = (f"{name}={_text_of(part)}" for name, part in zip(self._fields, self, strict=True))
        return f"SparseTensor({', '.join(parts)})"


def _text_of(part: Any) -> str:
    is_tensor = isinstance(part, np.ndarray) and hasattr(type(part), "get_shape")
    return str(part) if is_tensor else repr(part)


def _at_values(sparse: SparseTensor, dense: Any) -> Any:
    """Return what of a dense array stands beside the values.

    Raises:
        BadTypeError: It holds fractions, and the values are whole numbers.
        BadArgumentError: It does not broadcast to the shape.
    """
    if isinstance(dense, SparseTensor):
        raise BadTypeError(
            "Operators of a SparseTensor take dense arrays. Received: another SparseTensor. Use tf.sparse.to_dense."
        )
    array = dense.__jax_array__() if hasattr(type(dense), "__jax_array__") else dense
    array = as_array(array) if isinstance(array, list | tuple) else array
    if np.dtype(sparse.values.dtype).kind in "iu" and isinstance(array, float):
        raise BadTypeError(
            f"Whole numbers are not multiplied with fractions. Expected: values of a floating point dtype. Received: "
            f"values of dtype {sparse.values.dtype}, and {shown(dense)}. Cast the SparseTensor with tf.cast."
        )
    if not (sizes := np.shape(array)):
        return array
    shape = tuple(sparse.shape)
    fits = len(sizes) <= len(shape) and all(
        size in (1, whole) for size, whole in zip(sizes, shape[len(shape) - len(sizes) :], strict=True)
    )
    if not fits:
        raise BadArgumentError(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only. Expected: a dense array that broadcasts to the "
            f"shape {shape}. Received: an array of shape {tuple(sizes)}."
        )
    first = len(shape) - len(sizes)
    return array[tuple(sparse.indices[:, first + dim] * (size != 1) for dim, size in enumerate(sizes))]


def _as_part(part: Any, dtype: Any = None) -> Any:
    """Return a list as an array, in programs of TensorFlow's with a tensor's methods; everything else as it is."""
    if not isinstance(part, list):
        return part
    made = np.asarray(as_array(part))
    made = made if dtype is None else made.astype(dtype)
    return as_tensor(made) if has_tensors() else made


@recordable
def sparse_to_dense(
    sp_input: SparseTensor,
    default_value: object = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> np.ndarray:
    """Return the dense array of a SparseTensor, as `tf.sparse.to_dense`.

    Args:
        sp_input: The SparseTensor.
        default_value: What stands where there is no value; None for 0, or an empty byte string.
        validate_indices: Whether indices have to be in row-major order and different. They are always within the shape.
        name: Ignored.

    Returns:
        An array of the dense shape and the dtype of the values, on the host.

    Raises:
        BadTypeError: `sp_input` is no SparseTensor, or the default not of the dtype of its values.
        BadArgumentError: Its parts do not agree, or an index is outside of the shape, repeated or out of order.
    """
    if not isinstance(sp_input, SparseTensor):
        raise BadTypeError(
            f"to_dense takes a SparseTensor. Received: sp_input={shown(sp_input)}. "
            "Pass what a VarLenFeature was parsed to, or SparseTensor(indices, values, dense_shape)."
        )
    shape = tuple(int(size) for size in sp_input.dense_shape)
    values = np.asarray(as_array(sp_input.values))
    indices = np.asarray(sp_input.indices, np.int64)
    # An empty list of indices has lost its second dimension.
    indices = indices if indices.size else indices.reshape(0, len(shape))
    _check_parts(indices, values, shape)
    _check_inside(indices, shape)
    if validate_indices:
        _check_order(indices, shape)
    check_bytes("to_dense", shape, values.dtype.itemsize)
    dense = np.full(shape, _default_of(default_value, values.dtype), values.dtype)
    dense[tuple(indices.T)] = values
    return dense


def empty_value(dtype: np.dtype) -> Any:
    """Return what stands for nothing: an empty byte string among strings, else 0."""
    return b"" if dtype.kind == "O" else 0


def _default_of(value: object, dtype: np.dtype) -> Any:
    """Return the value that stands where there is none, of the dtype of the others."""
    if value is None:
        return empty_value(dtype)
    given = as_array(value)
    is_string = isinstance(given, bytes)
    if np.ndim(given) or is_string != (dtype.kind == "O") or not (is_string or _keeps(given, dtype)):
        raise BadTypeError(
            f"The default is one value of the dtype of the SparseTensor. Expected: {dtype}. "
            f"Received: default_value={shown(value)}. Pass such a value, or cast the values."
        )
    return given


def _keeps(number: object, dtype: np.dtype) -> bool:
    """Return whether a whole number stays the same in a dtype; others are rounded."""
    # Compared after the conversion: the only test that holds for every pair of dtypes.
    return dtype.kind not in "iub" or bool(np.asarray(number).astype(dtype) == number)


def _check_parts(indices: np.ndarray, values: np.ndarray, shape: tuple[int, ...]) -> None:
    if not shape or min(shape) < 0 or values.ndim != 1 or indices.shape != (len(values), len(shape)):
        raise BadArgumentError(
            "A SparseTensor has a row of indices for each value, and a column for each size of dense_shape, which are "
            f"at least 0. Received: indices of shape {indices.shape}, values of shape {values.shape}, "
            f"dense_shape={shape}. Make them agree."
        )


def _check_inside(indices: np.ndarray, shape: tuple[int, ...]) -> None:
    outside = ((indices < 0) | (indices >= np.array(shape, np.int64))).any(axis=1)
    if outside.any():
        first = int(outside.argmax())
        raise BadArgumentError(
            f"The indices of a SparseTensor lie within its shape. Expected: 0 <= index < {shape}. "
            f"Received: indices[{first}]={shown(indices[first].tolist())}. Mend the indices or dense_shape."
        )


def _check_order(indices: np.ndarray, shape: tuple[int, ...]) -> None:
    # Row-major order is the order of these numbers.
    positions = np.ravel_multi_index(tuple(indices.T), shape) if len(indices) else np.zeros(0, np.int64)
    # 0 is wrong, too: an index that comes twice.
    wrong = np.diff(positions) <= 0
    if wrong.any():
        first = int(wrong.argmax()) + 1
        raise BadArgumentError(
            "The indices of a SparseTensor are in row-major order and different from one another. "
            f"Received: indices[{first}]={shown(indices[first].tolist())} after {shown(indices[first - 1].tolist())}. "
            "Sort them, or pass validate_indices=False, with which the last of equal ones counts."
        )
