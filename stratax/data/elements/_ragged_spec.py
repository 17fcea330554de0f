"""`RaggedTensorSpec`: how RaggedTensors, and rows of different lengths, become batches (data layer)."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements._block import stack_rows
from stratax.data.elements._composite import CompositeSpec
from stratax.data.elements._ragged import RaggedTensor
from stratax.data.elements._ragged_splits import splits_of_lengths
from stratax.data.elements._spec import TensorSpec, as_dtype, dtype_name
from stratax.data.elements._tensor_shape import TensorShape
from stratax.errors import BadArgumentError, DataError


class RaggedTensorSpec(CompositeSpec):
    """What describes a component that is a RaggedTensor, as `tf.RaggedTensorSpec`.

    With a `ragged_rank` of 0 its values are arrays, such as the rows of a RaggedTensor, a batch of which is a
    RaggedTensor.

    Args:
        shape: The shape, `None` for sizes that differ; `None` as a whole if the rank is not known.
        dtype: The dtype of the values; float32 when left out.
        ragged_rank: How many dimensions are of different lengths; all but the first if left out.
        row_splits_dtype: Of where rows begin: int64 or int32.

    Raises:
        BadArgumentError: `ragged_rank` is not less than the rank, or neither is known.

    Example:
        >>> from stratax.data import RaggedTensorSpec
        >>> RaggedTensorSpec((None, None), "int64")
        RaggedTensorSpec(TensorShape([None, None]), tf.int64, 1, tf.int64)
    """

    kind = "ragged"

    def __init__(
        self,
        shape: object = None,
        dtype: DTypeLike = "float32",
        ragged_rank: int | None = None,
        row_splits_dtype: DTypeLike = np.int64,
    ) -> None:
        super().__init__(shape, as_dtype(dtype))
        rank = None if self._shape is None else len(self._shape)
        if ragged_rank is None and rank is not None:
            ragged_rank = rank - 1
        if ragged_rank is None or (rank is not None and ragged_rank >= rank):
            raise BadArgumentError(
                "A RaggedTensorSpec has a ragged_rank that is less than the rank of its shape. Received: "
                f"shape={shown(shape)}, ragged_rank={shown(ragged_rank)}."
            )
        self._ragged_rank = ragged_rank
        self._row_splits_dtype = as_dtype(row_splits_dtype)

    @property
    def ragged_rank(self) -> int:
        """How many dimensions are of different lengths."""
        return self._ragged_rank

    @property
    def row_splits_dtype(self) -> np.dtype:
        """The dtype of where rows begin."""
        return self._row_splits_dtype

    @property
    def value_type(self) -> type:
        """The class of the values."""
        return RaggedTensor if self.is_boxed else np.ndarray

    @property
    def is_boxed(self) -> bool:
        return self._ragged_rank > 0

    @property
    def details(self) -> dict[str, Any]:
        return {"ragged_rank": self._ragged_rank, "row_splits_dtype": self._row_splits_dtype.name}

    def of(self, value: object) -> "RaggedTensorSpec | None":
        if self.is_boxed:
            spec: Any = value.spec if isinstance(value, RaggedTensor) else None
            return spec  # type: ignore[no-any-return]
        if not isinstance(value, np.ndarray | np.generic | bytes):
            return None
        found = TensorSpec.from_array(value)
        return RaggedTensorSpec(found.shape, found.dtype, self._ragged_rank, self._row_splits_dtype)

    @property
    def part_specs(self) -> list[TensorSpec]:
        if not self.is_boxed:
            return [TensorSpec(self._shape, self._dtype)]
        inner = None if self._shape is None else (None, *self._shape[self._ragged_rank + 1 :])
        # In the order in which the arrays stand in the value: the innermost first, where outer rows begin last.
        return [
            TensorSpec(inner, self._dtype),
            *[TensorSpec((None,), self._row_splits_dtype)] * self._ragged_rank,
        ]

    def of_parts(self, parts: Sequence[Any]) -> Any:
        values, *splits = parts
        for each in splits:
            values = RaggedTensor(values, each)
        return values

    def empty(self) -> Any:
        parts = self.part_specs
        # Where rows begin, and the last one ends.
        splits = [np.zeros(1, each.dtype) for each in parts[1:]]
        return self.of_parts([np.zeros([size or 0 for size in parts[0].shape or ()], self.dtype), *splits])

    def batched(self, size: int | None) -> "RaggedTensorSpec":
        return self._of_rank(self._ragged_rank + 1, None if self._shape is None else (size, *self._shape))

    def unbatched(self) -> "RaggedTensorSpec":
        return self._of_rank(self._ragged_rank - 1, None if self._shape is None else self._shape[1:])

    def _of_rank(self, ragged_rank: int, shape: object) -> "RaggedTensorSpec":
        return RaggedTensorSpec(shape, self._dtype, ragged_rank, self._row_splits_dtype)

    def join(self, values: Sequence[Any]) -> Any:
        """Return a RaggedTensor whose rows are the values; of numbers, an array.

        Raises:
            DataError: The values differ in more than the lengths of ragged dimensions.
        """
        if self._ragged_rank < 0:
            return stack_rows([[value] for value in values])[0]
        lengths = np.array([len(value) for value in values], self._row_splits_dtype)
        size = None if self._shape is None else self._shape[0]
        # The spec may be of the first elements only.
        is_uniform = size is not None and (lengths == size).all()
        return RaggedTensor(
            concatenate_rows(values),
            splits_of_lengths(lengths),
            size if is_uniform and self.is_boxed else None,
        )

    def split(self, value: Any) -> list[Any]:
        """Return the rows: RaggedTensors, or arrays."""
        if not isinstance(value, RaggedTensor):
            return list(value)
        inner, splits = value.parts
        return [_rows(inner, *bounds) for bounds in itertools.pairwise(splits.tolist())]

    def __repr__(self) -> str:
        names = dtype_name(self._dtype), dtype_name(self._row_splits_dtype)
        return f"RaggedTensorSpec({TensorShape(self._shape)!r}, {names[0]}, {self._ragged_rank}, {names[1]})"


def concatenate_rows(values: Sequence[Any]) -> Any:
    """Return the rows of several RaggedTensors, or arrays, one after another.

    Raises:
        DataError: Dimensions of which the lengths must agree differ, or some are ragged and others are not.
    """
    if not isinstance(values[0], RaggedTensor):
        try:
            return np.concatenate(values)
        except ValueError as e:
            raise DataError(
                "Ragged rows of one batch differ in the lengths of their ragged dimensions only. Received: "
                f"shapes={shown(sorted({np.shape(value) for value in values}))}. Use ragged_batch for other dimensions."
            ) from e
    inner, splits = zip(*[value.parts for value in values], strict=True)
    starts = np.cumsum([0, *(each[-1] for each in splits[:-1])], dtype=splits[0].dtype)
    moved = [each[1:] + start for each, start in zip(splits, starts, strict=True)]
    uniform = {value.uniform_row_length for value in values}
    return RaggedTensor(
        concatenate_rows(inner),
        np.concatenate([splits[0][:1], *moved]),
        uniform.pop() if len(uniform) == 1 else None,
    )


def _rows(values: Any, start: int, stop: int) -> Any:
    """Return copies of some rows, which keep no more than themselves."""
    if not isinstance(values, RaggedTensor):
        return values[start:stop].copy()
    inner, splits = values.parts
    splits = splits[start : stop + 1]
    rows = _rows(inner, int(splits[0]), int(splits[-1]))
    return RaggedTensor(rows, splits - splits[0], values.uniform_row_length)
