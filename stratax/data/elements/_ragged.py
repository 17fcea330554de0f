"""RaggedTensor: rows of different lengths, as `tf.strings.split` and `Dataset.ragged_batch` give them (data layer)."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
import optree

from stratax.base import pytrees
from stratax.base.indices import dim_of, is_known
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements._composite import NAMESPACE, Composite, CompositeSpec, map_parts
from stratax.data.elements._ragged_dense import dense
from stratax.data.elements._ragged_factories import RaggedFactories, length
from stratax.data.elements._ragged_index import index
from stratax.data.elements._ragged_operators import define_ragged_operators
from stratax.data.elements._ragged_splits import lengths_of, row_ids
from stratax.data.elements._sparse import SparseTensor
from stratax.data.elements._spec import as_dtype
from stratax.data.elements._structure import as_array
from stratax.data.elements._tensor_shape import TensorShape
from stratax.data.elements._text import as_element, if_tensors
from stratax.data.elements._values import as_values
from stratax.errors import BadArgumentError, BadTypeError


class RaggedTensor(RaggedFactories, Composite):
    """Rows of different lengths, as `tf.RaggedTensor`: all their values one after another, and where rows begin.

    Where rows begin is kept by NumPy on the host; the values are where they were made, text always on the host. It may
    be (part of) an element of a Dataset, an argument and a result of compiled functions, which compute with its
    `flat_values`; what depends on the lengths of rows is for the host.

    Use the factories `from_row_splits`, `from_row_lengths` and their like, or `tf.ragged.constant`.

    Args:
        values: The values of all rows: an array, or a RaggedTensor whose rows these rows are made of.
        row_splits: Where each row begins, and behind them where the last one ends.

    Example:
        >>> import numpy as np
        >>> from stratax.data import RaggedTensor
        >>> rows = RaggedTensor.from_row_lengths(np.array([3, 1, 4]), [2, 0, 1])
        >>> rows
        <tf.RaggedTensor [[3, 1], [], [4]]>
        >>> rows.to_tensor().tolist()
        [[3, 1], [0, 0], [4, 0]]
    """

    __slots__ = ("_row_splits", "_uniform", "_values")
    # So that NumPy leaves operators to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, row_splits: Any, uniform_row_length: int | None = None) -> None:
        pytrees.tell_jax()
        self._values = values
        self._row_splits = row_splits
        self._uniform = uniform_row_length

    # Parts

    @property
    def parts(self) -> tuple[Any, Any]:
        """Its values and where rows begin, as they are kept."""
        return self._values, self._row_splits

    @property
    def values(self) -> Any:
        """The values of all rows: an array, or a RaggedTensor."""
        return if_tensors(self._values)

    @property
    def row_splits(self) -> Any:
        """Where each row begins, and behind them where the last one ends."""
        return if_tensors(self._row_splits)

    @property
    def flat_values(self) -> Any:
        """The values of the innermost rows: an array."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else if_tensors(inner)

    @property
    def nested_row_splits(self) -> tuple[Any, ...]:
        """Where rows begin, outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are of different lengths."""
        return len(self.nested_row_splits)

    @property
    def uniform_row_length(self) -> Any:
        """The length of rows that were made of one length; None of others."""
        return self._uniform

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The sizes, None of those that differ."""
        inner = self._values.shape
        return TensorShape([len(self._row_splits) - 1, self._uniform, *inner[1:]])

    def get_shape(self) -> TensorShape:
        """Return the sizes, None of those that differ."""
        return self.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def spec(self) -> CompositeSpec:
        """What describes it."""
        # The spec makes values of this class.
        from stratax.data.elements._ragged_spec import RaggedTensorSpec

        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def on_host(self) -> "RaggedTensor":
        """Return it of arrays of NumPy."""
        return map_parts(as_array, self)  # type: ignore[no-any-return]

    def nrows(self, out_type: DTypeLike | None = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        return as_element(self._of_splits_dtype(len(self._row_splits) - 1, out_type)[()])

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the lengths of rows; of those of an inner `axis` as a RaggedTensor."""
        axis = axis + self.ndim if axis < 0 else axis
        if axis == 1:
            return as_element(lengths_of(self._row_splits))
        if axis == 0:
            return self.nrows()
        if isinstance(self._values, RaggedTensor):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = self._values.shape
        return self.with_values(np.full(shape[: axis - 1], shape[axis - 1], self._row_splits.dtype))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the lengths of rows, outermost first."""
        return tuple(as_element(lengths_of(splits)) for splits in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the number of each value's row."""
        if self._is_traced():
            return _import_traced().row_ids(self)
        self._check_known("value_rowids")
        return as_element(row_ids(self._row_splits))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the numbers of rows, outermost first."""
        return tuple(as_element(row_ids(splits)) for splits in self.nested_row_splits)

    def row_starts(self, name: str | None = None) -> Any:
        """Return where rows begin."""
        return as_element(self._row_splits[:-1])

    def row_limits(self, name: str | None = None) -> Any:
        """Return where rows end."""
        return as_element(self._row_splits[1:])

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: DTypeLike | None = None
    ) -> Any:
        """Return the smallest shape of a dense array that holds all rows, or its size along `axis`."""
        if self._is_traced():
            return _import_traced().bounding_shape(self)[() if axis is None else axis]
        self._check_known("bounding_shape")
        longest = int(lengths_of(self._row_splits).max(initial=0))
        inner = self._values
        rest = inner.bounding_shape()[1:] if isinstance(inner, RaggedTensor) else inner.shape[1:]
        shape = self._of_splits_dtype([len(self._row_splits) - 1, longest, *map(int, rest)], out_type)
        return as_element(shape if axis is None else shape[axis])

    def _of_splits_dtype(self, numbers: Any, dtype: DTypeLike | None) -> np.ndarray:
        return np.array(numbers, self._row_splits.dtype if dtype is None else as_dtype(dtype))

    # The same rows of other values

    def with_values(self, new_values: Any) -> "RaggedTensor":
        """Return the same rows of other values.

        Raises:
            BadArgumentError: There are not as many.
        """
        values = new_values if isinstance(new_values, RaggedTensor) else as_values(new_values)
        if length(values) != length(self._values):
            raise BadArgumentError(
                f"New values of a RaggedTensor are as many as the old ones. Expected: {length(self._values)}. "
                f"Received: {length(values)}."
            )
        return RaggedTensor(values, self._row_splits, self._uniform)

    def with_flat_values(self, new_values: object) -> Any:
        """Return the same rows of rows of other values."""
        inner = self._values
        return self.with_values(
            inner.with_flat_values(new_values) if isinstance(inner, RaggedTensor) else new_values
        )

    def with_row_splits_dtype(self, dtype: DTypeLike) -> "RaggedTensor":
        """Return the same with where rows begin as int64 or int32."""
        inner = self._values
        values = inner.with_row_splits_dtype(dtype) if isinstance(inner, RaggedTensor) else inner
        return RaggedTensor(values, self._row_splits.astype(as_dtype(dtype)), self._uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Return the same values with some neighbouring dimensions made one.

        Args:
            outer_axis: The first of them.
            inner_axis: The last of them.

        Raises:
            BadArgumentError: There are no such dimensions, or they are not in order.
        """
        outer, inner = (
            dim_of(outer_axis, self.ndim, "outer_axis"),
            dim_of(inner_axis, self.ndim, "inner_axis"),
        )
        if outer > inner:
            raise BadArgumentError(
                f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner}). Received: outer_axis="
                f"{outer_axis}, inner_axis={inner_axis}."
            )
        if outer == inner:
            return self
        if outer > 0:
            return self._merge_inner(outer, inner)
        if inner == 1:
            return self._values
        merged = self._values
        if isinstance(merged, RaggedTensor):
            return merged.merge_dims(0, inner - 1)
        return merged.reshape((-1, *merged.shape[inner:]))

    def _merge_inner(self, outer: int, inner: int) -> Any:
        values = self._values
        if not isinstance(values, RaggedTensor):
            made = values.reshape((*values.shape[: outer - 1], -1, *values.shape[inner:]))
            size = int(np.prod(values.shape[1:inner], dtype=np.int64))
            return self.with_values(made) if outer > 1 else RaggedTensor(made, self._row_splits * size)
        if outer > 1:
            return self.with_values(values.merge_dims(outer - 1, inner - 1))
        merged = RaggedTensor(values.values, values.row_splits[self._row_splits])
        return merged.merge_dims(1, inner - 1)

    # Other forms

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Any:
        """Return a dense array, filled up at the ends of rows.

        Args:
            default_value: What it is filled up with; 0, an empty string or False if None.
            name: Ignored.
            shape: The sizes, which longer rows are cut to; None for what is needed.

        Returns:
            The array; of a compiled function's argument one of a shape that is computed from values.
        """
        wanted = TensorShape(shape)
        if self._is_traced():
            return _import_traced().dense(
                self, list(self.shape if wanted.rank is None else wanted), default_value
            )
        sizes = [int(size) for size in self.bounding_shape()]
        if wanted.rank is not None:
            sizes = [a if b is None else b for a, b in zip(sizes, wanted, strict=True)]
        return as_element(dense(self, sizes, default_value))

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return a SparseTensor with the same values at the front of its rows."""
        self._check_known("to_sparse")
        flat, columns = self.flat_values, []
        ids = np.arange(len(flat), dtype=np.int64)
        for splits in reversed(self.nested_row_splits):
            rows = row_ids(splits).astype(np.int64)[ids]
            columns.append(ids - splits[rows])
            ids = rows
        columns.append(ids)
        indices = np.stack(columns[::-1], axis=1)
        inner = flat.shape[1:]
        if inner:
            places = np.stack(np.unravel_index(np.arange(np.prod(inner)), inner), axis=1)
            indices = np.concatenate(
                [np.repeat(indices, len(places), axis=0), np.tile(places, (len(indices), 1))], axis=1
            )
            flat = flat.reshape(-1)
        shape = np.array(self.bounding_shape(), np.int64)
        return SparseTensor(if_tensors(indices), if_tensors(flat), if_tensors(shape))

    def to_list(self) -> list[Any]:
        """Return nested lists of Python's numbers and `bytes`."""
        self._check_known("to_list")
        inner = self._values
        flat = inner.to_list() if isinstance(inner, RaggedTensor) else np.asarray(inner).tolist()
        splits = self._row_splits.tolist()
        return [flat[start:stop] for start, stop in itertools.pairwise(splits)]

    def numpy(self) -> np.ndarray:
        """Return an array: of rows, as objects, unless all have one length."""
        self._check_known("numpy")
        rows = [row.numpy() if isinstance(row, RaggedTensor) else np.asarray(row) for row in self]
        if len({row.shape for row in rows}) <= 1 and all(
            row.dtype != object or self.dtype == object for row in rows
        ):
            return np.stack(rows) if rows else np.zeros((0, 0), self.dtype)
        made = np.empty(len(rows), object)
        made[:] = rows
        return made

    def _is_traced(self) -> bool:
        """Return whether only the running program knows the lengths of rows."""
        inner = self._values
        return not is_known(self._row_splits) or (isinstance(inner, RaggedTensor) and inner._is_traced())

    def _check_known(self, what: str) -> None:
        if not isinstance(self._row_splits, np.ndarray) and is_known(self._row_splits):
            # What a compiled function has given is on a device until somebody looks.
            self._row_splits = np.asarray(self._row_splits, np.int64)
        if not isinstance(self._row_splits, np.ndarray):
            raise BadTypeError(
                f"{what} needs the lengths of rows, which are not known while a compiled function is traced. Expected: "
                f"a call outside of the function. Received: {what} of an argument of the function. Make it dense with "
                "to_tensor(), or compute with flat_values."
            )

    def __getitem__(self, key: object) -> Any:
        self._check_known("Indexing")
        made = index(self, key if isinstance(key, tuple) else (key,))
        return made if isinstance(made, RaggedTensor) else as_element(made)

    def __len__(self) -> int:
        return len(self._row_splits) - 1

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> NoReturn:
        raise BadTypeError("RaggedTensor may not be used as a boolean. Use len(), or reduce it first.")

    def __repr__(self) -> str:
        if not is_known(self._row_splits) or not is_known(self.flat_values):
            return f"<RaggedTensor of {shown(self.flat_values)} and {shown(self.nested_row_splits)}>"
        if not isinstance(self._row_splits, np.ndarray):
            # What a compiled function gave, or a structure whose arrays somebody has mapped to something else.
            return repr(_on_host(self))
        # NumPy shows arrays inside of others by the formatter that it was told, and of many elements the ends.
        with np.printoptions(formatter={"all": _text_of}):
            return f"<tf.RaggedTensor {_text_of(self.numpy())}>"


def _on_host(rows: RaggedTensor) -> RaggedTensor:
    values = rows._values
    inner = _on_host(values) if isinstance(values, RaggedTensor) else np.asarray(values)
    return RaggedTensor(inner, np.asarray(rows._row_splits), rows._uniform)


def _text_of(part: object) -> str:
    if not isinstance(part, np.ndarray):
        return str(part)
    return np.array2string(part, separator=", ") if part.size else str(part.tolist())


def _to_parts(rows: RaggedTensor) -> tuple[tuple[Any, Any], int | None]:
    return (rows._values, rows._row_splits), rows._uniform


def _of_parts(uniform: int | None, parts: Sequence[Any]) -> RaggedTensor:
    values, splits = parts
    return RaggedTensor(values, splits, uniform)


define_ragged_operators(RaggedTensor)
optree.register_pytree_node(RaggedTensor, _to_parts, _of_parts, namespace=NAMESPACE)
pytrees.register(RaggedTensor, _to_parts, _of_parts)


def _import_traced() -> Any:
    from stratax.data.elements import _ragged_traced

    return _ragged_traced
