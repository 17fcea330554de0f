"""Parts of matrices and matrices of parts: diagonals, bands, traces of `tf.linalg` (ops layer).

NumPy arrays stay on the host (see `stratax.tensorflow.ops.calls._host`).
"""

from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library, call_with_library_alike
from stratax.tensorflow.ops.calls.op import op

# Of the diagonals above the main one, and of those below.
_ALIGNS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def check_matrices(array: Any, name: str = "input", *, is_square: bool = False) -> None:
    """Raise unless an array holds matrices.

    Raises:
        BadArgumentError: It has less than two dimensions, or its matrices are not square and have to be.
    """
    if array.ndim < 2 or (is_square and array.shape[-1] != array.shape[-2]):
        raise BadArgumentError(
            f"{name} must hold {'square ' if is_square else ''}matrices, in its last two dimensions. Received: {name} "
            f"of shape {tuple(array.shape)}."
        )


@op(name_default="matrix_transpose", name_after="a")
def matrix_transpose(a: TensorLike, conjugate: bool = False) -> Any:
    """Return matrices with rows and columns exchanged, as `tf.linalg.matrix_transpose`.

    Args:
        a: Matrices, shape `(..., m, n)`.
        conjugate: Whether elements are conjugated, too.

    Raises:
        BadArgumentError: If `a` has less than two dimensions.
    """
    return call_with_library(_transpose, a, conjugate=conjugate)


def _transpose(library: ModuleType, matrix: Array, conjugate: bool = False) -> Any:
    check_matrices(matrix, "a")
    moved = library.swapaxes(matrix, -1, -2)
    return library.conj(moved) if conjugate else moved


def adjoint(matrix: TensorLike, name: str | None = None) -> Any:
    """Return matrices transposed and conjugated, as `tf.linalg.adjoint`."""
    return matrix_transpose(matrix, conjugate=True, name=name)


@op(arrays=["input"])
def band_part(input: TensorLike, num_lower: TensorLike, num_upper: TensorLike) -> Any:
    """Return matrices with zeros outside of a band, as `tf.linalg.band_part`.

    Args:
        input: Matrices, shape `(..., m, n)`.
        num_lower: How many diagonals below the main one stay; a negative number for all.
        num_upper: How many above.

    Raises:
        BadArgumentError: If `input` has less than two dimensions, or not as many diagonals.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix)
        _check_band("num_lower", num_lower, matrix.shape[-2])
        _check_band("num_upper", num_upper, matrix.shape[-1])
        # Shape (m, n): the number of each element's diagonal, 0 for the main one.
        above = library.arange(matrix.shape[-1]) - library.arange(matrix.shape[-2])[:, None]
        is_low = library.asarray(num_lower) < 0
        is_high = library.asarray(num_upper) < 0
        is_kept = (is_low | (-above <= num_lower)) & (is_high | (above <= num_upper))
        return library.where(is_kept, matrix, library.zeros((), matrix.dtype))

    return call_with_library(compute, input)


def _check_band(name: str, count: object, size: int) -> None:
    if is_known(count) and int(np.asarray(count)) > size:
        raise BadArgumentError(
            f"{name} must be negative or at most the matrix' size, {size}. Received: {name}={shown(count)}. Pass -1 "
            "for all diagonals."
        )


class _Band:
    """Where elements of a band of diagonals stand in matrices, and in the compact array of them.

    Args:
        k: The diagonal, or the lowest and the highest; 0 is the main one.
        rows: How many rows the matrices have.
        columns: How many columns.
        align: On which side diagonals above and below the main one stand in the compact array.
    """

    def __init__(self, k: TensorLike, rows: int, columns: int, align: str) -> None:
        self.low, self.high = _diagonals(k)
        if align not in _ALIGNS or self.low > self.high or not (-rows < self.low and self.high < columns):
            # An empty matrix has no diagonal that `k` could be compared with.
            if align in _ALIGNS and self.low <= self.high and min(rows, columns) == 0:
                pass
            else:
                raise BadArgumentError(
                    f"Expected: diagonals in order from {1 - rows} to {columns - 1}, and an align of {_ALIGNS}. "
                    f"Received: k={shown(k)}, align={shown(align)}."
                )
        self.is_one = np.ndim(k) == 0
        # The longest of the diagonals: the one that is nearest to the main one.
        self.width = min(rows + min(self.high, 0), columns - max(self.low, 0))
        row, column = np.indices((rows, columns))
        above = column - row
        self.is_inside = (above >= self.low) & (above <= self.high)
        # For each element, how long its diagonal is.
        lengths = np.minimum(rows + np.minimum(above, 0), columns - np.maximum(above, 0))
        upper, lower = (side == "LEFT" for side in align.split("_"))
        # The main diagonal is as long as the array is wide if it is in the band, so that both sides may claim it.
        is_left = ((above >= 0) & upper) | ((above <= 0) & lower)
        first = np.where(is_left, 0, self.width - lengths)
        # The compact array's row and column of each element; anything where there is none, as it is not used.
        self.number = np.where(self.is_inside, self.high - above, 0)
        self.place = np.where(self.is_inside, np.minimum(row, column) + first, 0)

    def spread(self, library: ModuleType, diagonals: Array, outside: TensorLike) -> Any:
        """Return matrices of diagonals, with `outside` elsewhere."""
        if self.is_one:
            diagonals = diagonals[..., None, :]
        return library.where(self.is_inside, diagonals[..., self.number, self.place], outside)

    def gather(self, library: ModuleType, matrix: Array, padding: Any) -> Any:
        """Return the diagonals of matrices, with `padding` where they are shorter than the longest."""
        shape = (self.high - self.low + 1, max(self.width, 0))
        # `number` and `place` turned round: for each element of the compact array, where it is in the matrix.
        rows, columns = np.zeros(shape, int), np.zeros(shape, int)
        is_there = np.zeros(shape, bool)
        row, column = np.nonzero(self.is_inside)
        target = self.number[row, column], self.place[row, column]
        rows[target], columns[target], is_there[target] = row, column, True
        found = library.where(is_there, matrix[..., rows, columns], padding)
        return found[..., 0, :] if self.is_one else found


def _diagonals(k: object) -> tuple[int, int]:
    numbers = sizes_of("k", k)
    if len(numbers) not in (1, 2):
        raise BadArgumentError(f"k is one diagonal, or the lowest and the highest. Received: k={shown(k)}.")
    return numbers[0], numbers[-1]


@op(name_default="diag", name_after="diagonal", arrays=["diagonal"])
def diag(
    diagonal: TensorLike,
    k: TensorLike = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return matrices with given diagonals, as `tf.linalg.diag`.

    Args:
        diagonal: The diagonals, shape `(..., length)`; for several of a matrix `(..., diagonals, length)`, the highest
            first.
        k: Which diagonal, 0 for the main one, or the lowest and the highest of several.
        num_rows: How many rows; -1 for as many as are needed.
        num_cols: How many columns.
        padding_value: What stands elsewhere.
        align: On which side shorter diagonals above, and below, the main one stand.

    Raises:
        BadArgumentError: If shapes don't fit.
    """

    def compute(library: ModuleType, array: Array) -> Any:
        low, high = _diagonals(k)
        longest = array.shape[-1] if array.ndim else 0
        # A diagonal below the main one begins that many rows further down, one above it as many columns to the right.
        least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
        rows, columns = int(num_rows), int(num_cols)
        # Square, unless a size is given.
        if rows == columns == -1:
            rows = columns = max(least_rows, least_columns)
        rows, columns = (least_rows if rows == -1 else rows), (least_columns if columns == -1 else columns)
        # Whether the sizes that were asked for leave room for diagonals of just this length.
        band = _Band(k, rows, columns, align)
        if not array.ndim or band.width != longest or (not band.is_one and _count(array) != high - low + 1):
            raise BadArgumentError(
                "Diagonals have the shape (..., length), or (..., diagonals, length) if there are several. Expected: "
                f"length {band.width}. Received: diagonal of shape {tuple(array.shape)}, k={shown(k)}."
            )
        return band.spread(library, array, library.asarray(padding_value, array.dtype))

    return call_with_library(compute, diagonal)


def _count(array: Array) -> int:
    return array.shape[-2] if array.ndim > 1 else 0


@op(name_default="diag_part", name_after="input", arrays=["input"])
def diag_part(
    input: TensorLike,
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return diagonals of matrices, as `tf.linalg.diag_part`.

    Args:
        input: Matrices, shape `(..., m, n)`.
        k: Which diagonal, 0 for the main one, or the lowest and the highest of several.
        padding_value: What fills up shorter diagonals.
        align: On which side shorter diagonals above, and below, the main one stand.

    Returns:
        Shape `(..., length)`, or `(..., diagonals, length)`; the highest first.

    Raises:
        BadArgumentError: If there is no such diagonal.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix)
        band = _Band(k, matrix.shape[-2], matrix.shape[-1], align)
        return band.gather(library, matrix, library.asarray(padding_value, matrix.dtype))

    return call_with_library(compute, input)


@op(name_default="set_diag", name_after="diagonal", arrays=["input", "diagonal"])
def set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Any:
    """Return matrices with other diagonals, as `tf.linalg.set_diag`.

    Args:
        input: Matrices, shape `(..., m, n)`.
        diagonal: The diagonals, as in :func:`diag`.
        k: Which diagonal, 0 for the main one, or the lowest and the highest of several.
        align: On which side shorter diagonals above, and below, the main one stand.

    Raises:
        BadArgumentError: If shapes don't fit.
    """

    def compute(library: ModuleType, matrix: Array, diagonals: Array) -> Any:
        check_matrices(matrix)
        band = _Band(k, matrix.shape[-2], matrix.shape[-1], align)
        # A single diagonal has no dimension of its own.
        own = () if band.is_one else (band.high - band.low + 1,)
        if diagonals.shape != (*matrix.shape[:-2], *own, band.width):
            raise BadArgumentError(
                f"Expected: diagonals of shape {(*matrix.shape[:-2], *own, band.width)}. Received: diagonal of shape "
                f"{tuple(diagonals.shape)} for matrices of shape {tuple(matrix.shape)}."
            )
        return band.spread(library, diagonals, matrix)

    return call_with_library_alike(compute, input, diagonal)


@op
def tensor_diag(diagonal: TensorLike) -> Any:
    """Return a tensor of twice the rank that is 0 but on its diagonal, as `tf.linalg.tensor_diag`."""
    return call_with_library(
        lambda library, array: library.diag(array.ravel()).reshape([*array.shape, *array.shape]), diagonal
    )


@op
def tensor_diag_part(input: TensorLike) -> Any:
    """Return the diagonal of a tensor of shape `(*sizes, *sizes)`, as `tf.linalg.tensor_diag_part`.

    Raises:
        BadArgumentError: If the tensor has another shape.
    """

    def compute(library: ModuleType, array: Array) -> Any:
        # As one matrix, whose rows and columns count the same places.
        half = array.ndim // 2
        sizes = array.shape[:half]
        if not half or array.shape != (*sizes, *sizes):
            raise BadArgumentError(
                f"The tensor must have the same sizes twice. Received: input of shape {tuple(array.shape)}."
            )
        size = int(np.prod(sizes))
        return library.diagonal(array.reshape([size, size])).reshape(sizes)

    return call_with_library(compute, input)


@op
def trace(x: TensorLike) -> Any:
    """Return the sums of the main diagonals of matrices, as `tf.linalg.trace`."""

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, "x")
        # NumPy would add up small whole numbers in 64 bits.
        return library.trace(matrix, axis1=-2, axis2=-1, dtype=matrix.dtype)

    return call_with_library(compute, x)


@op
def cross(a: TensorLike, b: TensorLike) -> Any:
    """Return the vectors at right angles to pairs of vectors, as `tf.linalg.cross`.

    Raises:
        BadArgumentError: If vectors have not three numbers, or the shapes are different.
    """

    def compute(library: ModuleType, first: Array, second: Array) -> Any:
        if first.shape != second.shape or first.shape[-1:] != (3,):
            raise BadArgumentError(
                "Both operands are vectors of three numbers, in arrays of one shape. Received: shapes "
                f"{tuple(first.shape)} and {tuple(second.shape)}."
            )
        return library.cross(first, second)

    return call_with_library_alike(compute, a, b)
