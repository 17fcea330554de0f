"""Fourier and cosine transforms of `tf.signal` (ops layer). NumPy arrays stay on the host (see `ops/_host.py`)."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import Array, Axis, DTypeLike, TensorLike
from stratax.data.elements import sizes_of
from stratax.errors import BadArgumentError, BadTypeError
from stratax.tensorflow.ops.calls._computed import call_with_library
from stratax.tensorflow.ops.calls.op import op
from stratax.tensorflow.ops.math.reductions import axes_of

_COMPLEX = ("complex64", "complex128")


def _check(array: Array, num: int, kinds: tuple[str, ...]) -> None:
    if array.dtype.name not in kinds:
        raise BadTypeError(
            f"This transform takes an array of {' or '.join(kinds)}. Received: one of {array.dtype}. Cast it."
        )
    if array.ndim < num:
        raise BadArgumentError(
            f"The array needs {num} dimension{'s' if num > 1 else ''} at least. Received: shape {array.shape}."
        )


def _complex_transform(name: str, num: int) -> Callable[..., Any]:
    def compute(library: ModuleType, array: Array) -> Any:
        _check(array, num, _COMPLEX)
        transform = library.fft.ifftn if name.startswith("i") else library.fft.fftn
        return transform(array, axes=tuple(range(-num, 0))).astype(array.dtype)

    def function(input: TensorLike) -> Any:
        return call_with_library(compute, input)

    return _name(function, name, f"over the last {num if num > 1 else ''} dimension{'s' if num > 1 else ''}")


def _name(function: Callable[..., Any], name: str, where: str) -> Callable[..., Any]:
    what = "inverse Fourier transform" if name.startswith("i") else "Fourier transform"
    of = " of real numbers" if "rfft" in name else ""
    length = (
        "\n        fft_length: The sizes of the transform, to which dimensions are cut or filled up with zeros."
        if "rfft" in name
        else ""
    )
    return op(
        name=name,
        doc=f"""Return the {what}{of} {" ".join(where.split())}, as `tf.signal.{name}`.

    Args:
        input: The array.{length}

    Returns:
        An array, on the host if the operand is.

    Raises:
        BadTypeError: If it has another dtype.
        BadArgumentError: If it has too few dimensions.
    """.replace("        input:", "        input_tensor:" if "rfft" in name else "        input:"),
    )(function)


def _real_transform(name: str, num: int) -> Callable[..., Any]:
    is_inverse = name.startswith("i")

    def compute(library: ModuleType, array: Array, sizes: tuple[int, ...] | None) -> Any:
        _check(array, num, _COMPLEX if is_inverse else ("float32", "float64", "bfloat16", "float16"))
        if sizes is not None and len(sizes) != num:
            raise BadArgumentError(
                f"fft_length has a size for each of {num} dimensions. Received: fft_length={shown(sizes)}."
            )
        axes = tuple(range(-num, 0))
        if not is_inverse:
            # Neither library transforms 16 bits.
            wide = array if array.dtype in (np.float32, np.float64) else array.astype("float32")
            return library.fft.rfftn(wide, s=sizes, axes=axes)
        return library.fft.irfftn(array, s=sizes, axes=axes)

    def function(input_tensor: TensorLike, fft_length: TensorLike | None = None) -> Any:
        sizes = None if fft_length is None else sizes_of("fft_length", fft_length)
        return call_with_library(compute, input_tensor, sizes=sizes)

    return _name(function, name, f"over the last {num if num > 1 else ''} dimension{'s' if num > 1 else ''}")


fft, fft2d, fft3d = (_complex_transform(f"fft{rest}", num) for num, rest in ((1, ""), (2, "2d"), (3, "3d")))
ifft, ifft2d, ifft3d = (
    _complex_transform(f"ifft{rest}", num) for num, rest in ((1, ""), (2, "2d"), (3, "3d"))
)
rfft, rfft2d, rfft3d = (_real_transform(f"rfft{rest}", num) for num, rest in ((1, ""), (2, "2d"), (3, "3d")))
irfft, irfft2d, irfft3d = (
    _real_transform(f"irfft{rest}", num) for num, rest in ((1, ""), (2, "2d"), (3, "3d"))
)


def _general(name: str) -> Callable[..., Any]:
    def compute(library: ModuleType, array: Array, sizes: TensorLike, axes: Axis) -> Any:
        return getattr(library.fft, name.removesuffix("nd") + "n")(array, s=sizes, axes=axes)

    def function(
        input_tensor: TensorLike,
        fft_length: TensorLike | None = None,
        axes: TensorLike | None = None,
        norm: str | None = None,
    ) -> Any:
        if norm not in (None, "backward"):
            raise BadArgumentError(f'norm is None or "backward". Received: norm={shown(norm)}.')
        sizes = None if fft_length is None else sizes_of("fft_length", fft_length)
        dims = None if axes is None else sizes_of("axes", axes)
        # Sizes without dimensions are those of the last ones.
        if sizes is not None and dims is None:
            dims = tuple(range(-len(sizes), 0))
        return call_with_library(compute, input_tensor, sizes=sizes, axes=dims)

    return op(
        name=name,
        doc=f"""Return a Fourier transform over given dimensions, as `tf.signal.{name}`.

    Args:
        input_tensor: The array; on a device at most three dimensions are transformed.
        fft_length: The sizes of the transform, to which dimensions are cut or filled up with zeros.
        axes: The dimensions; None for all.
        norm: None.
    """,
    )(function)


fftnd, ifftnd, rfftnd, irfftnd = (_general(name) for name in ("fftnd", "ifftnd", "rfftnd", "irfftnd"))


def _shift(name: str, what: str) -> Callable[..., Any]:
    def function(x: TensorLike, axes: Axis = None) -> Any:
        return call_with_library(
            lambda library, array: getattr(library.fft, function.__name__)(array, axes=axes_of(axes)), x
        )

    return op(
        name=name,
        doc=f"""{what}, as `tf.signal.{name}`.

    Args:
        x: The array.
        axes: The dimension, or several; None for all.
    """,
    )(function)


fftshift = _shift("fftshift", "Return what a transform gives, with frequency 0 moved to the middle")
ifftshift = _shift("ifftshift", "Return what `fftshift` made, with frequency 0 moved to the beginning")


def _fill(library: ModuleType, array: Array, size: int | None) -> Any:
    """Return an array cut, or filled up with zeros, to a size of its last dimension."""
    if size is None or size == array.shape[-1]:
        return array
    if size < array.shape[-1]:
        return array[..., :size]
    return library.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, size - array.shape[-1])])


def _turns(size: int, sign: int, dtype: DTypeLike) -> np.ndarray:
    # Twice a quarter turn spread over the whole, which moves samples by a half: what makes a cosine transform of
    # Fourier's.
    turns = 2 * np.exp(sign * 0.5j * np.pi * np.arange(size) / size)
    return turns.astype("complex128" if dtype == np.float64 else "complex64")


def _dct(library: ModuleType, array: Array, type: int, size: int | None, norm: str | None) -> Any:
    array = _fill(library, array, size)
    count = array.shape[-1]
    if type == 1:
        # Even around both ends, so that Fourier's transform has cosines only.
        around = library.concatenate([array, array[..., -2:0:-1]], axis=-1)
        return library.fft.rfft(around).real
    # Numbers of NumPy's own would widen an array of float32.
    root = array.dtype.type(np.sqrt(0.5 / count))
    # The first row of the matrix is longer than the others by the root of 2.
    first = np.ones(count, array.dtype)
    first[0] = np.sqrt(0.5)
    if type == 2:
        result = (library.fft.rfft(array, 2 * count)[..., :count] * _turns(count, -1, array.dtype)).real
        return result * (root * first) if norm else result
    if type == 3:
        scaled = array * (array.dtype.type(0.5) / root / first) if norm else array * count
        turned = scaled * _turns(count, 1, array.dtype)
        return library.fft.irfft(turned, 2 * count)[..., :count]
    # Type 4 has the odd rows of type 2 of twice the size.
    odd = _dct(library, array, 2, 2 * count, None)[..., 1::2]
    return odd * root if norm else odd


def dct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the cosine transform over the last dimension, as `tf.signal.dct`.

    Args:
        input: Floats.
        type: 1 to 4.
        n: The size of the transform, to which the dimension is cut or filled up with zeros.
        axis: -1.
        norm: None, or `"ortho"` for a matrix whose rows have the length 1.
        name: Ignored.

    Raises:
        BadArgumentError: If an argument is none of these.
    """
    if type not in (1, 2, 3, 4) or axis != -1 or norm not in (None, "ortho") or (type == 1 and norm):
        raise BadArgumentError(
            'The cosine transform has a type from 1 to 4, axis=-1, and norm=None or, but for type 1, "ortho". '
            f"Received: type={shown(type)}, axis={shown(axis)}, norm={shown(norm)}."
        )
    if n is not None and n < 1:
        raise BadArgumentError(f"The size of a transform is at least 1. Received: n={shown(n)}.")
    return call_with_library(_dct, input, type=type, size=n, norm=norm)


def idct(
    input: TensorLike,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Any:
    """Return the inverse of the cosine transform but for a factor, as `tf.signal.idct`; arguments as :func:`dct`."""
    # Types 1 and 4 are their own inverses, 2 and 3 those of one another.
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)
