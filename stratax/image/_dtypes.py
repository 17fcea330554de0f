"""Conversion between the dtypes of images: whole numbers up to the largest, floats from 0 to 1 (image layer)."""

import functools
from typing import Any

import ml_dtypes
import numpy as np

from stratax.base.typing import Array, DTypeLike, TensorLike
from stratax.data.elements import as_dtype
from stratax.data.vectorise import deferrable, gives_tensors
from stratax.errors import BadArgumentError
from stratax.image import _chain, _compiled, _loops
from stratax.image._arrays import Namespace, as_image


@functools.cache
def is_floating(dtype: DTypeLike) -> bool:
    """Return whether a dtype is floating point; bfloat16 is."""
    return np.dtype(dtype).kind == "f" or np.dtype(dtype).name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


@functools.cache
def name_of(dtype: np.dtype) -> str:
    """Return a dtype's name, which takes NumPy longer to find than a small image takes."""
    return dtype.name


@deferrable(_chain.try_convert)
@gives_tensors
def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Any:
    """Return an image with another dtype, scaled to the new dtype's range, as `tf.image.convert_image_dtype`.

    Images of floats range from 0 to 1, images of integers from 0 to their dtype's largest number.

    Args:
        image: An array of any shape.
        dtype: A floating-point or integer dtype.
        saturate: Whether values that the new dtype can't hold become its nearest; else they wrap around, or are
            whatever the processor makes of them.
        name: Ignored.

    Returns:
        An array of that dtype and image's shape, where `image` is; `image` itself if it has that dtype.

    Raises:
        BadArgumentError: If a dtype is neither floating point nor integer.

    Example:
        >>> import numpy as np
        >>> from stratax import image
        >>> image.convert_image_dtype(np.array([0, 0.5, 1], np.float32), np.uint8).tolist()
        [0, 127, 255]
    """
    image, xp = as_image(image)
    target = as_dtype(dtype)
    _check_kind("image of dtype", np.dtype(image.dtype))
    _check_kind("dtype", target)
    if image.dtype == target:
        return image
    if is_floating(image.dtype):
        return (
            image.astype(target)
            if is_floating(target)
            else _from_float(image, target, saturate=saturate, xp=xp)
        )
    if is_floating(target):
        return _to_float(image, target)
    return _between_integers(image, target, saturate=saturate, xp=xp)


def _check_kind(which: str, dtype: np.dtype) -> None:
    if not is_floating(dtype) and dtype.kind not in "iu":
        raise BadArgumentError(
            "The dtype of an image is floating point or integer. "
            f"Received: {which}={dtype}. Pass for instance float32 or uint8."
        )


@gives_tensors
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Any:
    """`value` with another dtype; what that can't hold becomes its nearest, as `tf.saturate_cast`."""
    value, xp = as_image(value)
    return _saturate(value, as_dtype(dtype), xp)


def to_float(image: Any) -> Any:
    """Return an image as floats to compute with: of 16 and 32 bits as they are, others as float32 from 0 to 1."""
    if name_of(np.dtype(image.dtype)) in ("float32", "float16", "bfloat16"):
        return image
    return convert_image_dtype(image, np.float32)


def _to_float(image: Array, target: np.dtype) -> Any:
    scale = _step(np.dtype(image.dtype), target)
    if target == np.float32 and (loop := _compiled.loop_for(_loops.to_floats, image)):
        result = np.empty(image.shape, np.float32)
        loop(np.ascontiguousarray(image).reshape(-1), scale, result.reshape(-1))
        return result
    converted = image.astype(target)
    if isinstance(converted, np.ndarray):
        return np.multiply(converted, scale, out=converted)
    return converted * scale


@functools.cache
def _step(dtype: np.dtype, target: np.dtype) -> Any:
    """Return how far two neighbours of a dtype of integers lie apart as floats."""
    return target.type(1.0 / np.iinfo(dtype).max)


def _from_float(image: Array, target: np.dtype, xp: Namespace, *, saturate: bool) -> Any:
    if saturate and target == np.uint8 and (loop := _compiled.loop_for(_loops.to_bytes, image)):
        result = np.empty(image.shape, np.uint8)
        loop(np.ascontiguousarray(image).reshape(-1), result.reshape(-1))
        return result
    if np.iinfo(target).bits > 8:
        # The largest numbers are beyond what 16 bits hold.
        image = image.astype(np.promote_types(image.dtype, np.float32))
    # Half a step more than the largest makes the cast, which cuts off, round.
    scaled = image * np.dtype(image.dtype).type(np.iinfo(target).max + 0.5)
    return _saturate(scaled, target, xp) if saturate else _cast_unchecked(scaled, target)


def _between_integers(image: Array, target: np.dtype, xp: Namespace, *, saturate: bool) -> Any:
    largest_in, largest_out = int(np.iinfo(image.dtype).max), int(np.iinfo(target).max)

    def cast(value: Array) -> Any:
        return _saturate(value, target, xp) if saturate else value.astype(target)

    if largest_in > largest_out:
        return cast(image // np.dtype(image.dtype).type((largest_in + 1) // (largest_out + 1)))
    return cast(image) * target.type((largest_out + 1) // (largest_in + 1))


def _cast_unchecked(value: Array, target: np.dtype) -> Any:
    """Return a cast of floats without checks and without NumPy's warning that some of them do not fit."""
    with np.errstate(invalid="ignore"):
        return value.astype(target)


def _saturate(value: Array, target: np.dtype, xp: Namespace) -> Any:
    if is_floating(target):
        if is_floating(value.dtype) and (most := float(_finfo(target).max)) < float(_finfo(value.dtype).max):
            value = xp.clip(value, value.dtype.type(-most), value.dtype.type(most))
        return value.astype(target)
    limits = np.iinfo(target)
    if is_floating(value.dtype):
        low, high = _float_limits(limits, np.dtype(value.dtype))
        return _cast_unchecked(xp.clip(value, low, high), target)
    own = np.iinfo(value.dtype)
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    return xp.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(target)


_finfo = functools.cache(ml_dtypes.finfo)


def _float_limits(limits: np.iinfo, dtype: np.dtype) -> tuple[Any, Any]:
    """Return the smallest and largest float that a cast to the integer dtype keeps."""
    low, high = dtype.type(limits.min), dtype.type(limits.max)
    if float(high) > limits.max:
        high = np.nextafter(high, dtype.type(0))
    return low, high
