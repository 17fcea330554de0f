"""Eigenvalues, singular values and functions of matrices: `tf.linalg` (ops layer).

NumPy arrays stay on the host (see `ops/_host.py`). The signs of vectors, and the order of `eig`, may be others
than TensorFlow's.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.indices import is_known
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls._computed import as_floating, call_with_library, call_with_library_alike
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.matrices import check_matrices


@op
def svd(tensor: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Return singular values and vectors of matrices, as `tf.linalg.svd`.

    Args:
        tensor: Matrices, shape `(..., m, n)`.
        full_matrices: Whether there are as many vectors as rows, and as columns.
        compute_uv: Whether there are vectors.

    Returns:
        `s, u, v`, such that `tensor = u @ diag(s) @ adjoint(v)`; not in NumPy's order, and `v` not as NumPy has it.
        `s` alone without vectors.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, "tensor")
        if not compute_uv:
            return library.linalg.svd(matrix, compute_uv=False)
        u, sizes, vh = library.linalg.svd(matrix, full_matrices=full_matrices)
        # TensorFlow's `v` has a vector in each column, NumPy's a conjugated one in each row.
        return sizes, u, library.conj(library.swapaxes(vh, -1, -2))

    return call_with_library(compute, tensor)


@op
def qr(input: TensorLike, full_matrices: bool = False) -> tuple[Any, Any]:
    """Return the orthogonal and the upper triangular factor of matrices, as `tf.linalg.qr`.

    Args:
        input: Matrices, shape `(..., m, n)`.
        full_matrices: Whether the first one is square.
    """

    def compute(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix)
        return tuple(library.linalg.qr(matrix, mode="complete" if full_matrices else "reduced"))

    return call_with_library(compute, input)


def _values(name: str, what: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def check(library: ModuleType, matrix: Array) -> Any:
        check_matrices(matrix, "tensor", is_square=True)
        _check_finite(name, matrix)
        return compute(library, matrix)

    def function(tensor: TensorLike) -> Any:
        return call_with_library(check, tensor)

    return op(
        name=name,
        doc=f"""Return {what}, as `tf.linalg.{name}`.

    Args:
        tensor: Square matrices, shape `(..., n, n)`.

    Raises:
        BadArgumentError: If they are not square, or are known to hold NaN or infinite numbers.
    """,
    )(function)


def _check_finite(name: str, matrix: Array) -> None:
    if is_known(matrix) and not np.isfinite(np.asarray(matrix)).all():
        raise BadArgumentError(
            f"tf.linalg.{name} was not successful. The input might not be valid: it has NaN or infinite numbers. "
            f"Received: matrices of shape {tuple(matrix.shape)}. Find where they come from with tf.debugging."
            "check_numerics."
        )


def _complex(array: Array) -> Any:
    # NumPy gives real numbers where all of them are real, TensorFlow never does.
    narrow = array.dtype in (np.float32, np.complex64)
    return array.astype("complex64" if narrow else "complex128")


def _lower(library: ModuleType, matrix: Array) -> Any:
    """Return the matrices whose lower halves these are: the upper ones don't count."""
    # JAX averages both halves, TensorFlow looks at the lower one.
    low = library.tril(matrix, -1)
    main = library.tril(matrix) - low
    return low + main + library.conj(library.swapaxes(low, -1, -2))


def _eigh(library: ModuleType, matrix: Array) -> tuple[Any, Any]:
    matrix = as_floating(matrix)
    values, vectors = library.linalg.eigh(_lower(library, matrix))
    # Of complex matrices TensorFlow's values are complex.
    return values.astype(matrix.dtype), vectors


eig = _values(
    "eig",
    "eigenvalues and eigenvectors (columns), complex",
    lambda library, matrix: tuple(map(_complex, library.linalg.eig(matrix))),
)
eigvals = _values("eigvals", "eigenvalues, complex", lambda xp, matrix: _complex(xp.linalg.eigvals(matrix)))
eigh = _values(
    "eigh",
    "eigenvalues in ascending order and eigenvectors (columns) of self-adjoint matrices",
    _eigh,
)
eigvalsh = _values(
    "eigvalsh",
    "eigenvalues of self-adjoint matrices in ascending order",
    lambda library, matrix: library.linalg.eigvalsh(_lower(library, as_floating(matrix))).astype(
        as_floating(matrix).dtype
    ),
)


@op
def eigh_tridiagonal(
    alpha: TensorLike,
    beta: TensorLike,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: TensorLike | None = None,
) -> Any:
    """Return eigenvalues of self-adjoint matrices of three diagonals, as `tf.linalg.eigh_tridiagonal`.

    Args:
        alpha: The main diagonals, shape `(..., n)`.
        beta: The ones above, shape `(..., n - 1)`.
        eigvals_only: Whether eigenvectors are left out.
        select: `"a"` for all, `"i"` for those from the first to the second number of `select_range`.
        select_range: The numbers.
        tol: Ignored: results are as precise as they can be.

    Raises:
        BadArgumentError: If `select` is another: how many values lie in a range depends on them.
    """
    if select not in ("a", "i") or (select == "i" and select_range is None):
        raise BadArgumentError(
            'select must be "a", or "i" with a select_range of two numbers. Received: '
            f'select={shown(select)}, select_range={shown(select_range)}. For "v", choose among all values.'
        )

    def compute(library: ModuleType, main: Array, above: Array) -> Any:
        size = main.shape[-1]
        if tuple(above.shape) != (*main.shape[:-1], max(size - 1, 0)):
            raise BadArgumentError(
                f"beta has one number less than alpha, {size - 1}, for each matrix. Received: alpha of shape "
                f"{tuple(main.shape)}, beta of shape {tuple(above.shape)}."
            )
        edges = [(0, 0)] * (main.ndim - 1)
        # Shape (..., n, n): row i has beta[i] behind the main diagonal.
        after = library.pad(above, [*edges, (0, 1)])[..., None] * np.eye(size, k=1, dtype=main.dtype)
        matrix = main[..., None] * np.eye(size, dtype=main.dtype) + after
        matrix = matrix + library.conj(library.swapaxes(after, -1, -2))
        values, vectors = library.linalg.eigh(matrix)
        if select == "i":
            first, last = (int(number) for number in select_range)
            # Both ends belong to the range.
            values, vectors = values[..., first : last + 1], vectors[..., first : last + 1]
        return values if eigvals_only else (values, vectors)

    return call_with_library_alike(compute, alpha, beta)


def _matrix_function(name: str, what: str) -> Callable[..., Any]:
    def compute(library: Any, matrix: Any) -> Any:
        check_matrices(matrix, is_square=True)
        matrix = as_floating(matrix)
        if 0 in matrix.shape:
            return matrix
        result = (_on_host if library is np else _on_device)(name, matrix)
        # A real matrix may have a complex logarithm or root; TensorFlow gives the dtype of the matrix.
        return (result if matrix.dtype.kind == "c" else result.real).astype(matrix.dtype)

    def function(input: TensorLike) -> Any:
        return call_with_library(compute, input)

    return op(
        name=name,
        doc=f"""Return the {what} of square matrices, as `tf.linalg.{name}`.

    Args:
        input: Square matrices, shape `(..., n, n)`.

    Raises:
        BadArgumentError: If they are not square.
    """,
    )(function)


def _on_host(name: str, matrix: np.ndarray) -> Any:
    import scipy.linalg  # type: ignore[import-untyped]

    # In 64 bits: SciPy warns of the precision of 32.
    wide = matrix.astype(np.result_type(matrix, np.float64))
    return np.vectorize(getattr(scipy.linalg, name), signature="(n,n)->(n,n)")(wide)


def _on_device(name: str, matrix: Array) -> Any:
    import jax
    import jax.numpy as jnp

    if name == "expm":
        return jnp.vectorize(jax.scipy.linalg.expm, signature="(n,n)->(n,n)")(matrix)
    function = {"logm": jnp.log, "sqrtm": jnp.sqrt}[name]
    # Of matrices that have as many eigenvectors as rows.
    values, vectors = jnp.linalg.eig(matrix)
    return (vectors * function(values)[..., None, :]) @ jnp.linalg.inv(vectors)


expm = _matrix_function("expm", "exponentials")
logm = _matrix_function("logm", "logarithms")
sqrtm = _matrix_function("sqrtm", "square roots")
