"""SparseTensor: values with their indices, as `VarLenFeature` gives them (data layer)."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import optree

from stratax.base import pytrees
from stratax.base.bounds import check_bytes
from stratax.base.recording import recordable
from stratax.base.shown import shown
from stratax.base.tensors import has_tensors
from stratax.base.typing import DTypeLike
from stratax.data.elements._composite import NAMESPACE, Composite, CompositeSpec
from stratax.data.elements._spec import TensorSpec, as_dtype, dtype_name
from stratax.data.elements._structure import as_array
from stratax.data.elements._tensor_shape import TensorShape
from stratax.data.elements._text import as_tensor
from stratax.errors import BadArgumentError, BadTypeError, DataError


class SparseTensor(Composite):
    """Values and where they stand in an array that is mostly empty, as `tf.sparse.SparseTensor`; NumPy, on the host.

    It may be (part of) an element of a Dataset: a batch of them is one SparseTensor with one dimension more, as large
    as the largest of them.

    Args:
        indices: int64, shape `(values, rank)`, in row-major order; of lists arrays are made.
        values: Shape `(values,)`.
        dense_shape: int64, shape `(rank,)`.

    Example:
        >>> import numpy as np
        >>> from stratax.data import SparseTensor, sparse_to_dense
        >>> sparse_to_dense(SparseTensor(np.array([[0, 1], [1, 0]]), np.array([5, 6]), np.array([2, 2])))
        array([[0, 5],
               [6, 0]])
    """

    __slots__ = ("_num_fixed", "_parts")

    def __init__(self, indices: object, values: object, dense_shape: object) -> None:
        pytrees.tell_jax()
        self._num_fixed: int | None = None
        self._parts = _as_part(indices, np.int64), _as_part(values), _as_part(dense_shape, np.int64)

    @classmethod
    def of_parts(cls, parts: Iterable[Any], num_fixed: int | None = None) -> "SparseTensor":
        """Make one of indices, values and dense shape as they are; `num_fixed` sizes are alike in all made like it."""
        pytrees.tell_jax()
        made = cls.__new__(cls)
        made._num_fixed, made._parts = num_fixed, tuple(parts)  # type: ignore[assignment]
        return made

    @property
    def parts(self) -> tuple[Any, Any, Any]:
        """The indices, the values and the dense shape."""
        return self._parts

    @property
    def indices(self) -> Any:
        """Where the values stand: int64, shape `(values, rank)`."""
        return self._parts[0]

    @property
    def values(self) -> Any:
        """The values, shape `(values,)`."""
        return self._parts[1]

    @property
    def dense_shape(self) -> Any:
        """The dense shape: int64, shape `(rank,)`."""
        return self._parts[2]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the values."""
        return np.dtype(getattr(self.values, "dtype", None) or np.asarray(self.values).dtype)

    @property
    def shape(self) -> TensorShape:
        """The dense shape."""
        return TensorShape(int(size) for size in self.dense_shape)

    def get_shape(self) -> TensorShape:
        """Return the dense shape."""
        return self.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the dense shape."""
        return len(self.dense_shape)

    @property
    def spec(self) -> "SparseTensorSpec":
        """What describes it, and others made like it."""
        fixed = self.shape[: self._num_fixed]
        return SparseTensorSpec([*fixed, *[None] * (self.ndim - len(fixed))], self.dtype)

    def numpy(self) -> np.ndarray:
        """Return the dense array."""
        return sparse_to_dense(self)

    def on_host(self) -> "SparseTensor":
        """Return it of arrays of NumPy; raise if they don't agree."""
        values, shape = np.asarray(as_array(self.values)), np.asarray(as_array(self.dense_shape), np.int64)
        indices = np.asarray(as_array(self.indices), np.int64)
        # An empty list of indices has lost its second dimension.
        indices = indices if indices.size else indices.reshape(0, len(shape))
        _check_parts(indices, values, tuple(shape.tolist()))
        return SparseTensor.of_parts((indices, values, shape), self._num_fixed)

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
        return self._of(new_values)

    def _of(self, values: object) -> "SparseTensor":
        return SparseTensor.of_parts((self.indices, values, self.dense_shape))

    # NumPy's arrays leave operators to this class.
    __array_ufunc__ = None

    def __mul__(self, other: object) -> "SparseTensor":
        """Return the products of the values with a dense array that broadcasts to the shape, as TensorFlow."""
        return self._of(self.values * _at_values(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> "SparseTensor":
        """Return the quotients of the values and a dense array that broadcasts to the shape, as TensorFlow."""
        return self._of(self.values / _at_values(self, other))

    def __add__(self, other: object) -> Any:
        """Raise, as TensorFlow does.

        Raises:
            BadTypeError: Always.
        """
        raise BadTypeError(
            "A SparseTensor has no operator +. Expected: tf.sparse.add(a, b), or * and / with a dense array. "
            f"Received: {shown(other)}."
        )

    __radd__ = __add__

    def __repr__(self) -> str:
        names = ("indices", "values", "dense_shape")
        parts = (f"{name}={_text_of(part)}" for name, part in zip(names, self._parts, strict=True))
        return f"SparseTensor({', '.join(parts)})"


class SparseTensorSpec(CompositeSpec):
    """What describes a component that is a SparseTensor, as `tf.SparseTensorSpec`.

    Args:
        shape: The dense shape, `None` for sizes that differ; `None` as a whole if the rank is not known.
        dtype: The dtype of the values; float32 when left out.

    Example:
        >>> from stratax.data import SparseTensorSpec
        >>> SparseTensorSpec((None, 2), "int64")
        SparseTensorSpec(TensorShape([None, 2]), tf.int64)
    """

    kind = "sparse"
    value_type = SparseTensor

    def __init__(self, shape: object = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(shape, as_dtype(dtype))

    @property
    def details(self) -> dict[str, Any]:
        return {}

    def of(self, value: object) -> "SparseTensorSpec | None":
        return value.spec if isinstance(value, SparseTensor) else None

    @property
    def part_specs(self) -> list[TensorSpec]:
        rank = None if self.shape is None else len(self.shape)
        numbers = TensorSpec((None, rank), np.int64)
        return [numbers, TensorSpec((None,), self.dtype), TensorSpec((rank,), np.int64)]

    def of_parts(self, parts: Sequence[Any]) -> SparseTensor:
        return SparseTensor(*parts)

    def empty(self) -> SparseTensor:
        sizes = np.array([size or 0 for size in self.shape or ()], np.int64)
        return SparseTensor(np.zeros((0, len(sizes)), np.int64), np.zeros(0, self.dtype), sizes)

    def join(self, values: Sequence[SparseTensor]) -> SparseTensor:
        """Return a batch, whose sizes are the largest of all.

        Raises:
            DataError: The ranks differ.
        """
        ranks = {value.ndim for value in values}
        if len(ranks) > 1:
            raise DataError(
                f"SparseTensors of one batch need one rank. Received: ranks={sorted(ranks)}. Reshape them in a map."
            )
        numbers = np.repeat(np.arange(len(values)), [len(value.values) for value in values])
        indices = np.concatenate([value.indices for value in values])
        shape = np.max([value.dense_shape for value in values], axis=0, initial=0)
        return SparseTensor(
            np.column_stack([numbers, indices]),
            np.concatenate([value.values for value in values]),
            np.concatenate([[len(values)], shape]).astype(np.int64),
        )

    def split(self, value: SparseTensor) -> list[SparseTensor]:
        """Return the rows.

        Raises:
            DataError: There is only one dimension.
        """
        if value.ndim < 2:  # What is left has to have a dimension.
            raise DataError(
                "A SparseTensor that is taken apart along its first axis needs another one. "
                f"Received: dense_shape={shown(value.dense_shape)}. Reshape it, or use tf.sparse.to_dense."
            )
        # Those of a row stand together; as they need not, they are sorted, which leaves equal ones in order.
        rows = value.indices[:, 0]
        order = np.argsort(rows, kind="stable")
        stops = np.searchsorted(rows[order], np.arange(int(value.dense_shape[0]) + 1))
        chosen = [order[start:stop] for start, stop in itertools.pairwise(stops)]
        inner = value.dense_shape[1:]
        return [SparseTensor(value.indices[each, 1:], value.values[each], inner.copy()) for each in chosen]

    def __repr__(self) -> str:
        return f"SparseTensorSpec({TensorShape(self._shape)!r}, {dtype_name(self._dtype)})"


def _text_of(part: object) -> str:
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
    array = method() if (method := getattr(dense, "__jax_array__", None)) else dense
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


def _as_part(part: object, dtype: Any = None) -> Any:
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
) -> Any:
    """Return the dense array of a SparseTensor, as `tf.sparse.to_dense`.

    Args:
        sp_input: The SparseTensor.
        default_value: What stands where there is no value; None for 0, or an empty byte string.
        validate_indices: Whether indices have to be in row-major order and different. They are always within the shape.
        name: Ignored.

    Returns:
        An array of the dense shape and the dtype of the values, where these are.

    Raises:
        BadTypeError: `sp_input` is no SparseTensor, or the default not of the dtype of its values.
        BadArgumentError: Its parts do not agree, or an index is outside of the shape, repeated or out of order.
    """
    from stratax.data.elements._values import as_values, put_values

    if not isinstance(sp_input, SparseTensor):
        raise BadTypeError(
            f"to_dense takes a SparseTensor. Received: sp_input={shown(sp_input)}. "
            "Pass what a VarLenFeature was parsed to, or SparseTensor(indices, values, dense_shape)."
        )
    shape = tuple(int(size) for size in sp_input.dense_shape)
    values = as_values(sp_input.values)
    dtype = np.dtype(values.dtype)
    indices = np.asarray(sp_input.indices, np.int64)
    # An empty list of indices has lost its second dimension.
    indices = indices if indices.size else indices.reshape(0, len(shape))
    _check_parts(indices, values, shape)
    _check_inside(indices, shape)
    if validate_indices:
        _check_order(indices, shape)
    check_bytes("to_dense", shape, dtype.itemsize)
    dense = np.full(shape, _default_of(default_value, dtype), dtype)
    return put_values(dense, tuple(indices.T), values)


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


optree.register_pytree_node(
    SparseTensor,
    lambda sparse: (sparse.parts, sparse._num_fixed),
    lambda num_fixed, parts: SparseTensor.of_parts(parts, num_fixed),
    namespace=NAMESPACE,
)
pytrees.register(SparseTensor, lambda x: (x.parts, None), lambda _, parts: SparseTensor.of_parts(parts))
