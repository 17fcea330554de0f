"""`decode_raw`: bytes as the numbers that they hold (data layer)."""

import sys
from collections.abc import Sequence

import numpy as np

from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data.elements import as_dtype
from stratax.data.vectorise import gives_elements
from stratax.errors import BadArgumentError, BadTypeError, DataError


@gives_elements
def decode_raw(
    input_bytes: object,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> np.ndarray:
    r"""Return the numbers that byte strings hold, as `tf.io.decode_raw`.

    Args:
        input_bytes: `bytes`, or an array (dtype object) or list of equally long ones; text is encoded as UTF-8.
        out_type: The dtype of the numbers; for bool every byte but 0 is True.
        little_endian: The order of bytes within a number.
        fixed_length: Bytes that are taken from each string; shorter ones are filled up with zeros.
        name: Ignored.

    Returns:
        An array of shape `(*shape of input_bytes, numbers in each)`, a copy, on the host.

    Raises:
        BadTypeError: `input_bytes` is not made of `bytes`.
        BadArgumentError: `out_type` is not a dtype of numbers, or `fixed_length` not a multiple of its size.
        DataError: The strings differ in length, or do not divide into numbers.

    Example:
        >>> from stratax.data import decode_raw
        >>> decode_raw(b"\x01\x00\x02\x00", "int16").tolist()
        [1, 2]
    """
    dtype = as_dtype(out_type)
    # The small floats of ml_dtypes are numbers though their kind is that of raw memory.
    if dtype.kind in "OSUMm" or not dtype.itemsize or dtype.type is np.void:
        raise BadArgumentError(
            f"Bytes are decoded to numbers. Received: out_type={shown(out_type)}. Pass a dtype of numbers such "
            "as 'uint8'."
        )
    input_bytes = input_bytes.encode() if isinstance(input_bytes, str) else input_bytes
    if isinstance(input_bytes, bytes):
        return _numbers(_join_all([input_bytes], fixed_length, dtype), dtype, little_endian=little_endian)
    strings = np.asarray(input_bytes, object)
    values = _check(strings)
    joined = _join_all(values, fixed_length, dtype)
    size = fixed_length or (len(values[0]) if values else 0)
    return _numbers(joined, dtype, little_endian=little_endian).reshape(
        *strings.shape, size // dtype.itemsize
    )


def _check(strings: np.ndarray) -> list[bytes]:
    values = [value.encode() if isinstance(value, str) else value for value in strings.reshape(-1).tolist()]
    for value in values:
        if not isinstance(value, bytes):
            raise BadTypeError(
                f"decode_raw takes `bytes`. Received: {shown(value)} of type {type(value).__name__} in input_bytes. "
                "Encode text first: text.encode()."
            )
    return values


def _join_all(values: Sequence[bytes], fixed_length: int | None, dtype: np.dtype) -> bytes:
    """Join all strings one after another, once their lengths are right."""
    if fixed_length is not None:
        is_number = isinstance(fixed_length, int | np.integer) and not isinstance(fixed_length, bool)
        if not is_number or fixed_length <= 0 or fixed_length % dtype.itemsize:
            raise BadArgumentError(
                f"fixed_length is a multiple of the size of a number. Expected: a multiple of {dtype.itemsize} for "
                f"{dtype}, above 0. Received: fixed_length={shown(fixed_length)}."
            )
        return b"".join(value[:fixed_length].ljust(fixed_length, b"\0") for value in values)
    for index, value in enumerate(values):
        if len(value) != len(values[0]):
            raise DataError(
                "Byte strings that are decoded together are equally long. Expected: "
                f"{len(values[0])} bytes, as the first. Received: {len(value)} bytes in input_bytes[{index}]. "
                "Pass fixed_length, or decode them one by one."
            )
        if len(value) % dtype.itemsize:
            raise DataError(
                f"A byte string divides into numbers. Expected: a multiple of {dtype.itemsize} bytes for {dtype}. "
                f"Received: {len(value)} bytes. Mend out_type, or pass fixed_length."
            )
    return b"".join(values)


def _numbers(data: bytes, dtype: np.dtype, *, little_endian: bool) -> np.ndarray:
    if dtype.kind == "b":
        # Any byte but 0 is True: other bytes must not reach an array of booleans.
        return np.frombuffer(data, np.uint8) != 0
    if little_endian == (sys.byteorder == "little"):
        # `frombuffer` gives memory that cannot be written to.
        return np.frombuffer(data, dtype).copy()
    # A complex number is two floats, each with its own byte order.
    part = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize
    return np.frombuffer(data, f"u{part}").byteswap().view(dtype)
