"""Factors and inverses of matrices, systems of equations: `tf.linalg` (ops layer).

NumPy arrays stay on the host (see `ops/_host.py`). There a matrix that has no inverse is an error, as in
TensorFlow; on a device the result has NaN or infinity.
"""

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.refusals import raises_named
from stratax.base.shown import shown
from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import call_with_library, call_with_library_alike
from stratax.tensorflow.ops.calls.dtypes import device_dtype
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.matrices import check_matrices, diag


@contextlib.contextmanager
def _solvable(name: str) -> Iterator[None]:
    try:
        yield
    except np.linalg.LinAlgError as e:
        raise BadArgumentError(
            f"tf.linalg.{name} can't be computed: {e}. Expected: matrices that have an inverse or such a factor."
        ) from e


def _adjoint(library: ModuleType, matrix: TensorLike) -> Any:
    return library.conj(library.swapaxes(matrix, -1, -2))


def _of_squares(name: str, what: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def check(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, is_square=True)
        with _solvable(name):
            return compute(library, matrix)

    def function(input: TensorLike) -> Any:
        return call_with_library(check, input)

    return op(
        name=name,
        doc=f"""Return {what}, as `tf.linalg.{name}`.

    Args:
        input: Square matrices, shape `(..., n, n)`.

    Raises:
        BadArgumentError: If they are not square, or it can't be computed.
    """,
    )(function)


def _cholesky(library: ModuleType, matrix: Array) -> Any:
    if library is np:
        # One by one: NumPy's own raises for a whole batch if one matrix has no factor.
        return np.vectorize(_cholesky_of_one, signature="(n,n)->(n,n)")(matrix) if matrix.size else matrix
    return library.linalg.cholesky(matrix)


def _cholesky_of_one(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        # As XLA gives it, which can't raise.
        return np.tril(np.full_like(matrix, np.nan))


cholesky = _of_squares("cholesky", "the lower triangular factors; NaN where there is none", _cholesky)

det = _of_squares("det", "the determinants", lambda xp, matrix: xp.linalg.det(matrix))
slogdet = _of_squares(
    "slogdet",
    "signs of determinants, and logarithms of their sizes",
    lambda xp, matrix: xp.linalg.slogdet(matrix),
)


@op(is_told=False, is_raw=True)
def logdet(matrix: TensorLike) -> Any:
    """Return logarithms of determinants of positive definite matrices, as `tf.linalg.logdet`."""
    return call_with_library(
        lambda library, factor: (
            # The determinant is the square of the factor's, the product of its diagonal.
            2 * library.sum(library.log(library.diagonal(factor, axis1=-2, axis2=-1).real), -1)
        ),
        cholesky(matrix),
    )


@op
def inv(input: TensorLike, adjoint: bool = False) -> Any:
    """Return the inverses of square matrices, as `tf.linalg.inv`.

    Args:
        input: Square matrices, shape `(..., n, n)`.
        adjoint: Whether those of the adjoint matrices are meant.

    Raises:
        BadArgumentError: If they are not square or are known to have no inverse.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, is_square=True)
        with _solvable("inv"):
            result = library.linalg.inv(_adjoint(library, matrix) if adjoint else matrix)
        _check_invertible(library, result, matrix)
        return result

    return call_with_library(compute, input)


def _check_invertible(library: Any, result: TensorLike, matrix: Any) -> None:
    """Raise for matrices that have no inverse, where that is known: NumPy raises by itself, JAX gives infinite numbers.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    # The factors are computed a second time only where something went wrong.
    if library is np or not is_known(result) or bool(library.isfinite(result).all()):
        return
    import jax

    _check_pivots(jax.lax.linalg.lu(matrix)[0])


def _check_pivots(factors: TensorLike) -> None:
    # `> 0` does not hold of NaN, either.
    if is_known(factors) and not (np.abs(np.diagonal(np.asarray(factors), axis1=-2, axis2=-1)) > 0).all():
        raise BadArgumentError(
            "Input is not invertible. Expected: matrices that have an inverse. Received: a matrix whose determinant is "
            "0, or that has a NaN. Use tf.linalg.pinv or tf.linalg.lstsq."
        )


def _check_system(matrix: Any, rhs: Any, *, is_square: bool = True) -> None:
    check_matrices(matrix, "matrix", is_square=is_square)
    check_matrices(rhs, "rhs")
    if matrix.shape[-2] != rhs.shape[-2]:
        raise BadArgumentError(
            f"Both sides of equations have as many rows. Received: matrix of shape {tuple(matrix.shape)}, rhs of shape "
            f"{tuple(rhs.shape)}."
        )


@op
def solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False) -> Any:
    """Return what matrices have to be multiplied by to give others, as `tf.linalg.solve`.

    Args:
        matrix: Square matrices, shape `(..., n, n)`.
        rhs: What they are to give, shape `(..., n, k)`.
        adjoint: Whether the adjoint matrices are meant.

    Raises:
        BadArgumentError: If shapes don't fit or a matrix is known to have no inverse.
    """

    def compute(library: ModuleType, left: TensorLike, right: TensorLike) -> Any:
        _check_system(left, right)
        with _solvable("solve"):
            result = library.linalg.solve(_adjoint(library, left) if adjoint else left, right)
        _check_invertible(library, result, left)
        return result

    return call_with_library_alike(compute, matrix, rhs)


def _triangular(library: ModuleType, matrix: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Any:
    _check_system(matrix, rhs)
    batch = np.broadcast_shapes(matrix.shape[:-2], rhs.shape[:-2])
    # JAX' solver takes operands of one batch shape only.
    matrix = library.broadcast_to(matrix, (*batch, *matrix.shape[-2:]))
    rhs = library.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    if library is np:
        # What stands in the other half counts for nothing, as in LAPACK.
        half = np.tril(matrix) if lower else np.triu(matrix)
        with _solvable("triangular_solve"):
            return np.linalg.solve(_adjoint(np, half) if adjoint else half, rhs)
    import jax

    return jax.lax.linalg.triangular_solve(
        matrix, rhs, left_side=True, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


@op
def triangular_solve(matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False) -> Any:
    """Solve equations of triangular matrices, as `tf.linalg.triangular_solve`.

    Args:
        matrix: Square matrices, shape `(..., n, n)`, of which one half counts.
        rhs: What they are to give, shape `(..., n, k)`.
        lower: Whether it is the lower half.
        adjoint: Whether the adjoint matrices are meant.

    Raises:
        BadArgumentError: If shapes don't fit.
    """
    return call_with_library_alike(
        lambda *given: _triangular(*given, lower=lower, adjoint=adjoint), matrix, rhs
    )


@raises_named
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: str | None = None) -> Any:
    """Solve equations of matrices whose factors `cholesky` gave, as `tf.linalg.cholesky_solve`."""
    # L y = rhs first, then L' x = y.
    return triangular_solve(chol, triangular_solve(chol, rhs), adjoint=True, name=name)


@op(is_told=False, is_raw=True)
def banded_triangular_solve(
    bands: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False
) -> Any:
    """Solve equations of triangular matrices of few diagonals, as `tf.linalg.banded_triangular_solve`.

    Args:
        bands: The diagonals, shape `(..., diagonals, n)`, the main one first if `lower`, else last.
        rhs: What the matrices are to give, shape `(..., n, k)`.
        lower: Whether the diagonals are below the main one.
        adjoint: Whether the adjoint matrices are meant.
    """
    count = bands.shape[-2] if hasattr(bands, "shape") else np.shape(bands)[-2]
    k = (1 - count, 0) if lower else (0, count - 1)
    # The shorter diagonals end below, and begin above, where the main one does.
    matrix = diag(bands, k=k, align="LEFT_RIGHT" if lower else "LEFT_LEFT")
    return triangular_solve(matrix, rhs, lower, adjoint)


@op(is_told=False, is_raw=True)
def lstsq(matrix: TensorLike, rhs: TensorLike, l2_regularizer: Any = 0.0, fast: bool = True) -> Any:
    """Return what comes nearest to solving equations, by squares, as `tf.linalg.lstsq`.

    Args:
        matrix: Shape `(..., m, n)`.
        rhs: What they are to give, shape `(..., m, k)`.
        l2_regularizer: How much the squares of the solution count; with `fast` only.
        fast: Whether the normal equations are solved; else singular values are computed, which is more precise.

    Returns:
        Shape `(..., n, k)`; the shortest of several solutions.
    """

    def compute(library: Any, left: Any, right: TensorLike) -> Any:
        _check_system(left, right, is_square=False)
        if not fast:
            return _pinv(library, left, None) @ right
        # It gives the shortest solution, as TensorFlow's orthogonal decomposition does.
        rows, columns = left.shape[-2:]
        other = _adjoint(library, left)
        # Of the smaller size: the normal equations of a wide matrix are those of its rows, and give the shortest
        # solution.
        small = library.asarray(l2_regularizer, left.dtype) * library.eye(
            min(rows, columns), dtype=left.dtype
        )
        with _solvable("lstsq"):
            if rows >= columns:
                return library.linalg.solve(other @ left + small, other @ right)
            return other @ library.linalg.solve(left @ other + small, right)

    return call_with_library_alike(compute, matrix, rhs)


def _pinv(library: Any, matrix: Any, rcond: Any) -> Any:
    check_matrices(matrix, "a")
    if rcond is None:
        rcond = 10.0 * max(matrix.shape[-2:]) * np.finfo(matrix.dtype).eps
    # TensorFlow's default: NumPy's own would keep what is rounding only.
    # Shapes (..., m, r), (..., r) and (..., r, n), r being the smaller size.
    u, sizes, vh = library.linalg.svd(matrix, full_matrices=False)
    cutoff = library.asarray(rcond, sizes.dtype)[..., None] * library.max(sizes, axis=-1, keepdims=True)
    # Divided by 1 where it is cut off, so that gradients are no NaN.
    inverses = library.where(sizes > cutoff, 1 / library.where(sizes > cutoff, sizes, 1), 0).astype(
        sizes.dtype
    )
    return (_adjoint(library, vh) * inverses[..., None, :]) @ _adjoint(library, u)


@op(is_told=False, is_raw=True)
def pinv(a: TensorLike, rcond: TensorLike | None = None, validate_args: bool = False) -> Any:
    """Return the pseudo-inverses of matrices, as `tf.linalg.pinv`.

    Args:
        a: Matrices, shape `(..., m, n)`.
        rcond: Singular values below this part of the largest count as 0; None for ten times the precision.
        validate_args: Ignored.

    Returns:
        Shape `(..., n, m)`.
    """
    return call_with_library(_pinv, a, rcond=rcond)


@op(is_told=False, is_raw=True)
def matrix_rank(a: TensorLike, tol: TensorLike | None = None, validate_args: bool = False) -> Any:
    """Return how many singular values of matrices are not 0, int32, as `tf.linalg.matrix_rank`.

    Args:
        a: Matrices, shape `(..., m, n)`.
        tol: Up to which they count as 0; None for what rounding makes of the largest.
        validate_args: Ignored.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, "a")
        sizes = library.linalg.svd(matrix, compute_uv=False)
        # Singular values are as precise as the largest one is.
        least = np.finfo(sizes.dtype).eps * max(matrix.shape[-2:]) * library.max(sizes, -1, keepdims=True)
        return library.sum(sizes > (least if tol is None else tol), axis=-1).astype("int32")

    return call_with_library(compute, a)


@op(is_told=False, is_raw=True)
def lu(input: TensorLike, output_idx_type: DTypeLike = "int32") -> tuple[Any, Any]:
    """Return both triangular factors of matrices in one, and the order of rows, as `tf.linalg.lu`.

    Args:
        input: Square matrices, shape `(..., n, n)`.
        output_idx_type: The dtype of the order.

    Returns:
        The factors, below the diagonal the lower one, whose own is 1; and the order, so that
        `tf.gather(input, order) = lower @ upper`.
    """

    def compute(library: ModuleType, matrix: Array) -> tuple[Any, Any]:
        check_matrices(matrix, is_square=True)
        if library is not np:
            import jax

            factors, _, order = jax.lax.linalg.lu(matrix)
            _check_pivots(factors)
            return factors, order.astype(device_dtype(output_idx_type))
        # SciPy takes one matrix at a time.
        return np.vectorize(_lu_of_one, signature="(n,n)->(n,n),(n)")(matrix)

    return call_with_library(compute, input)


def _lu_of_one(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import scipy.linalg  # type: ignore[import-untyped]

    factors, pivots = scipy.linalg.lu_factor(matrix, check_finite=False)
    # LAPACK says which rows were exchanged in each step; here is asked where each row came from.
    order = np.arange(len(pivots), dtype=np.int32)
    for row, pivot in enumerate(pivots):
        order[[row, pivot]] = order[[pivot, row]]
    return factors, order


@op(is_told=False, is_raw=True)
def lu_solve(lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike, validate_args: bool = False) -> Any:
    """Solve equations of matrices whose factors `lu` gave, as `tf.linalg.lu_solve`.

    Args:
        lower_upper: The factors, shape `(..., n, n)`.
        perm: The order of rows, shape `(..., n)`.
        rhs: What the matrices are to give, shape `(..., n, k)`.
        validate_args: Ignored.
    """

    def compute(library: ModuleType, factors: Array, order: Array, right: Array) -> Any:
        _check_system(factors, right)
        right = library.broadcast_to(right, (*factors.shape[:-2], *right.shape[-2:]))
        # The factors are those of the matrix with its rows in this order.
        right = library.take_along_axis(right, order[..., None], axis=-2)
        lower = library.tril(factors, -1) + library.eye(factors.shape[-1], dtype=factors.dtype)
        # First for `upper @ solution`, then for the solution.
        half = _triangular(library, lower, right, lower=True, adjoint=False)
        return _triangular(library, factors, half, lower=False, adjoint=False)

    return call_with_library(compute, lower_upper, perm, rhs)


@op(is_told=False, is_raw=True)
def lu_matrix_inverse(lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False) -> Any:
    """Return the inverses of matrices whose factors `lu` gave, as `tf.linalg.lu_matrix_inverse`."""
    identity = call_with_library(
        lambda library, factors: library.broadcast_to(
            library.eye(factors.shape[-1], dtype=factors.dtype), factors.shape
        ),
        lower_upper,
    )
    return lu_solve(lower_upper, perm, identity)


@op(is_told=False, is_raw=True)
def lu_reconstruct(lower_upper: TensorLike, perm: TensorLike, validate_args: bool = False) -> Any:
    """Return the matrices whose factors `lu` gave, as `tf.linalg.lu_reconstruct`."""

    def compute(library: ModuleType, factors: Array, order: Array) -> Any:
        lower = library.tril(factors, -1) + library.eye(factors.shape[-1], dtype=factors.dtype)
        # The inverse of a permutation is what sorts it.
        return library.take_along_axis(
            lower @ library.triu(factors), library.argsort(order, axis=-1)[..., None], axis=-2
        )

    return call_with_library(compute, lower_upper, perm)


_FORMATS = ("compact", "sequence", "matrix")


def _tridiagonal(library: ModuleType, diagonals: Array, form: str) -> tuple[Any, Any, Any]:
    """Return the diagonals above, on and below the main one, each of full length."""
    if form not in _FORMATS:
        raise BadArgumentError(
            f"diagonals_format is one of {_FORMATS}. Received: diagonals_format={shown(form)}. Choose one."
        )
    if form == "matrix":
        check_matrices(diagonals, "diagonals", is_square=True)
        edges = [(0, 0)] * (diagonals.ndim - 2)
        main, above, below = (library.diagonal(diagonals, k, axis1=-2, axis2=-1) for k in (0, 1, -1))
        # The diagonal above lacks an element at its end, the one below at its beginning.
        return library.pad(above, [*edges, (0, 1)]), main, library.pad(below, [*edges, (1, 0)])
    if diagonals.ndim < 2 or diagonals.shape[-2] != 3:
        raise BadArgumentError(
            f"Expected: three diagonals, shape (..., 3, n). Received: shape {tuple(diagonals.shape)}."
        )
    above, main, below = (diagonals[..., i, :] for i in range(3))
    size = main.shape[-1]
    # The elements that don't count may be anything.
    above = library.where(np.arange(size) < size - 1, above, 0)
    return above, main, library.where(np.arange(size) > 0, below, 0)


def _together(diagonals: Any, form: str) -> Any:
    if form != "sequence" or hasattr(diagonals, "shape"):
        return diagonals

    def compute(library: ModuleType, above: Array, main: Array, below: Array) -> Any:
        size, edges = main.shape[-1], [(0, 0)] * (main.ndim - 1)
        # TensorFlow takes diagonals of their own length, too: each is missing an element at one end.
        if above.shape[-1] == size - 1:
            above = library.pad(above, [*edges, (0, 1)])
        if below.shape[-1] == size - 1:
            below = library.pad(below, [*edges, (1, 0)])
        return library.stack([above, main, below], axis=-2)

    return call_with_library_alike(compute, *diagonals)


@op(is_told=False, is_raw=True)
def tridiagonal_matmul(diagonals: TensorLike, rhs: TensorLike, diagonals_format: str = "compact") -> Any:
    """Multiply matrices of three diagonals by others, as `tf.linalg.tridiagonal_matmul`.

    Args:
        diagonals: The diagonal above the main one, the main one and the one below, shape `(..., 3, n)`; with
            `"sequence"` a list of them, with `"matrix"` matrices.
        rhs: Shape `(..., n, k)`.
        diagonals_format: `"compact"`, `"sequence"` or `"matrix"`.
    """

    def compute(library: ModuleType, three: Array, right: Array) -> Any:
        above, main, below = _tridiagonal(library, three, diagonals_format)
        edges = [(0, 0)] * (right.ndim - 2)
        # Row i of the product is above[i] * right[i + 1] + main[i] * right[i] + below[i] * right[i - 1].
        after = library.pad(right[..., 1:, :], [*edges, (0, 1), (0, 0)])
        before = library.pad(right[..., :-1, :], [*edges, (1, 0), (0, 0)])
        return above[..., None] * after + main[..., None] * right + below[..., None] * before

    return call_with_library_alike(compute, _together(diagonals, diagonals_format), rhs)


@op(name_after="conjugate_rhs", is_told=False, is_raw=True)
def tridiagonal_solve(
    diagonals: Any,
    rhs: TensorLike,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Any:
    """Solve equations of matrices of three diagonals, as `tf.linalg.tridiagonal_solve`.

    Args:
        diagonals: As in :func:`tridiagonal_matmul`.
        rhs: What the matrices are to give, shape `(..., n, k)` or `(..., n)`.
        diagonals_format: `"compact"`, `"sequence"` or `"matrix"`.
        transpose_rhs: Whether `rhs` has the shape `(..., k, n)`.
        conjugate_rhs: Whether `rhs` is conjugated first.
        partial_pivoting: Ignored.
        perturb_singular: Ignored.
    """

    def compute(library: ModuleType, three: Array, right: Array) -> Any:
        above, main, below = _tridiagonal(library, three, diagonals_format)
        is_vector = right.ndim == main.ndim
        right = right[..., None] if is_vector else library.swapaxes(right, -1, -2) if transpose_rhs else right
        right = library.conj(right) if conjugate_rhs else right
        if library is np:
            with _solvable("tridiagonal_solve"):
                solution = np.vectorize(_solve_banded, signature="(n),(n),(n),(n,k)->(n,k)")(
                    above, main, below, right
                )
        else:
            import jax

            # JAX wants the lower diagonal first.
            solution = jax.lax.linalg.tridiagonal_solve(below, main, above, right)
        if is_vector:
            return solution[..., 0]
        return solution

    return call_with_library_alike(compute, _together(diagonals, diagonals_format), rhs)


def _solve_banded(above: np.ndarray, main: np.ndarray, below: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    import scipy.linalg  # type: ignore[import-untyped]

    # SciPy has elements of one column below one another, TensorFlow those of one row.
    bands = np.stack([np.roll(above, 1), main, np.roll(below, -1)])
    return scipy.linalg.solve_banded((1, 1), bands, rhs)
