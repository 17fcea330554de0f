"""NumPy code over a whole batch: a stand-in for one element that computes with all of them (data layer).

The stand-in looks to a function like the NumPy array of one element and applies elementwise operations, basic
indexing and a few shape changes to the whole column, which gives bit for bit what the function gives element by
element. Anything else raises :class:`CannotVectorise`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from stratax.base.typing import DTypeLike, PyTree, TensorLike
from stratax.data.elements import TensorMethods, TensorShape, define_operators


class CannotVectorise(Exception):
    """The function did something that has no batched form here."""


def _refuse(self: object, *args: object, **kwargs: object) -> Any:
    raise CannotVectorise


class BatchedElement(TensorMethods, NDArrayOperatorsMixin):
    """Stands for one element of a column.

    Args:
        column: Array with the elements on its leading axis.
        is_own: Whether the function made it, so that in-place operations may change it. Of another column they make
            a new one; views taken before do not see that, which the comparison with single elements finds out.
    """

    def __init__(self, column: np.ndarray, *, is_own: bool = False) -> None:
        self._column = column
        self._is_own = is_own

    @property
    def column(self) -> np.ndarray:
        """The column of all elements, stacked."""
        return self._column

    @property
    def shape(self) -> TensorShape:  # type: ignore[override]
        """The shape of one element."""
        return TensorShape(self._column.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self._column.dtype

    @property
    def ndim(self) -> int:
        """The rank of one element."""
        return self._column.ndim - 1

    @property
    def size(self) -> int:
        """The number of values in one element."""
        return int(np.prod(self._column.shape[1:], dtype=np.int64))

    def __len__(self) -> int:
        if not self.ndim:
            raise CannotVectorise
        return self.shape[0]

    def astype(self, dtype: DTypeLike) -> "BatchedElement":
        """Convert each element, as `ndarray.astype`."""
        return BatchedElement(self._column.astype(dtype), is_own=True)

    def copy(self) -> "BatchedElement":
        """Copy the elements, as `ndarray.copy`."""
        return BatchedElement(self._column.copy(), is_own=True)

    def reshape(self, *shape: Any) -> "BatchedElement":
        """Reshape each element, as `ndarray.reshape`."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        if -1 in sizes:
            known = int(np.prod([size for size in sizes if size != -1], dtype=np.int64))
            # NumPy would count the whole column for -1.
            sizes = tuple(self.size // max(known, 1) if size == -1 else size for size in sizes)
        return BatchedElement(self._column.reshape(len(self._column), *sizes), is_own=self._is_own)

    def ravel(self) -> "BatchedElement":
        """Flatten each element, as `ndarray.ravel`."""
        return self.reshape(self.size)

    flatten = ravel

    def transpose(self, *axes: Any) -> "BatchedElement":
        """Transpose each element, as `ndarray.transpose`."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
        order = tuple(axis % self.ndim for axis in order) if order else tuple(reversed(range(self.ndim)))
        return BatchedElement(self._column.transpose(0, *(axis + 1 for axis in order)), is_own=self._is_own)

    @property
    def T(self) -> "BatchedElement":
        """The transposed element, as `ndarray.T`."""
        return self.transpose()

    def __getitem__(self, key: object) -> "BatchedElement":
        parts = key if isinstance(key, tuple) else (key,)
        if not self.ndim or any(not _is_basic(part) for part in parts):
            raise CannotVectorise
        return BatchedElement(self._column[(slice(None), *parts)], is_own=self._is_own)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        # Reductions and matrix products see the leading axis; keyword arguments may mean anything.
        if method != "__call__" or ufunc.signature is not None or set(kwargs) - {"dtype", "casting"}:
            raise CannotVectorise
        columns = _align(inputs)
        if out is not None:
            (target,) = out
            if not isinstance(target, BatchedElement):
                raise CannotVectorise
            return target.assign(ufunc, columns, kwargs)
        result = ufunc(*columns, **kwargs)
        if isinstance(result, tuple):
            return tuple(BatchedElement(part, is_own=True) for part in result)
        return BatchedElement(result, is_own=True)

    def assign(self, ufunc: np.ufunc, columns: list[Any], kwargs: dict[str, Any]) -> "BatchedElement":
        """Take the result of an in-place operation: an array changes, a scalar gives a new one, as in NumPy."""
        if not self.ndim:
            result = ufunc(*columns, **kwargs)
            if result.ndim != 1:
                raise CannotVectorise
            return BatchedElement(result, is_own=True)
        # The result has more dimensions than its target: NumPy raises for one element, too.
        if max(np.ndim(column) for column in columns) > self._column.ndim:
            raise CannotVectorise
        out = self._column if self._is_own else np.empty_like(self._column)
        ufunc(*columns, out=out, **kwargs)
        self._column, self._is_own = out, True
        return self

    def __array_function__(
        self, func: Callable[..., Any], types: object, args: PyTree, kwargs: PyTree
    ) -> Any:
        handler = _FUNCTIONS.get(func)
        if handler is None:
            raise CannotVectorise
        return handler(*args, **kwargs)

    # What needs a value, or all of them in Python, has no batched form.
    __bool__ = __int__ = __float__ = __index__ = __iter__ = __array__ = __setitem__ = __contains__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise CannotVectorise


define_operators(BatchedElement, NDArrayOperatorsMixin)


def _is_basic(part: object) -> bool:
    is_index = isinstance(part, int | np.integer) and not isinstance(part, bool)
    return part is None or part is Ellipsis or isinstance(part, slice) or is_index


def _align(inputs: Sequence[Any]) -> list[Any]:
    """Return columns with as many axes as the operands' broadcast needs, other operands as they are."""
    rank = max(np.ndim(value) if not isinstance(value, BatchedElement) else value.ndim for value in inputs)
    return [_with_rank(value, rank) if isinstance(value, BatchedElement) else value for value in inputs]


def _with_rank(value: BatchedElement, rank: int) -> np.ndarray:
    # Behind the leading axis: NumPy aligns from the right, and would broadcast elements against one another.
    ones = (1,) * (rank - value.ndim)
    return value.column.reshape(len(value.column), *ones, *value.shape)


def _where(condition: Callable[..., Any], x: TensorLike, y: TensorLike) -> BatchedElement:
    return BatchedElement(np.where(*_align((condition, x, y))))


def _clip(a: TensorLike, a_min: object = None, a_max: object = None) -> BatchedElement:
    return BatchedElement(np.clip(*_align((a, a_min, a_max))))


def _expand_dims(a: Any, axis: int) -> BatchedElement:
    return BatchedElement(np.expand_dims(a.column, axis + 1 if axis >= 0 else axis))


def _flip(m: Any, axis: int) -> BatchedElement:
    return BatchedElement(np.flip(m.column, axis % m.ndim + 1))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: _clip,
    np.expand_dims: _expand_dims,
    np.flip: _flip,
    np.reshape: lambda a, shape: a.reshape(shape),
    np.ravel: lambda a: a.ravel(),
    np.transpose: lambda a, axes=None: a.transpose(*(() if axes is None else (axes,))),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.copy: lambda a: a.copy(),
}
