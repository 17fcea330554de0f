"""`tf.io`'s encodings of strings: base64 and compression, on the host (ops layer)."""

import base64
import binascii
import zlib
from typing import Any

from stratax.base.bounds import check_bytes, most_bytes
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError
from stratax.tensorflow.ops.calls.on_host import each, on_host
from stratax.tensorflow.ops.calls.op import op

# Windows of zlib's decoder by what TensorFlow calls the formats.
_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}  # 16 more: with a header of gzip.


@op(is_told=False, is_raw=True)
def encode_base64(input: TensorLike, pad: bool = False) -> Any:
    """Return strings in base64 for web addresses, as `tf.io.encode_base64`.

    Args:
        input: Strings.
        pad: Whether `=` fills up the last four characters.

    Example:
        >>> import stratax.tf as tf
        >>> tf.io.encode_base64("hello").numpy()
        b'aGVsbG8'
    """

    def encode(text: bytes) -> bytes:
        made = base64.urlsafe_b64encode(text)
        return made if pad else made.rstrip(b"=")

    return on_host(lambda texts: each(encode, texts), input, name="encode_base64")


@op(is_told=False, is_raw=True)
def decode_base64(input: TensorLike) -> Any:
    """Return what strings in base64 for web addresses stand for, as `tf.io.decode_base64`.

    Args:
        input: Strings, with or without `=` at their ends.

    Raises:
        BadArgumentError: A string is no base64.
    """

    def decode(text: bytes) -> bytes:
        try:
            # TensorFlow writes no padding, and takes either.
            filled = text.rstrip(b"=")
            filled += b"=" * (-len(filled) % 4)
            return base64.b64decode(filled, altchars=b"-_", validate=True)
        except binascii.Error as e:
            raise BadArgumentError(
                f"A string is no base64 for web addresses. Expected: letters, digits, - and _. Received: {shown(text)}."
            ) from e

    return on_host(lambda texts: each(decode, texts), input, name="decode_base64")


def _decompress(text: bytes, window: int, have: int) -> bytes:
    """Return what was compressed, unless it is larger than memory allows: a thousand zeros become one byte.

    Args:
        text: The bytes.
        window: That of zlib's decoder.
        have: How many bytes those before it have become.
    """
    pieces = zlib.decompressobj(window)
    # One byte more than there may be shows that it is too much.
    made = pieces.decompress(text, most_bytes() - have + 1)
    check_bytes("decode_compressed", (have + len(made),), 1)
    if pieces.eof:
        return made
    raise zlib.error("it is cut off")


@op(is_told=False, is_raw=True)
def decode_compressed(bytes: TensorLike, compression_type: str = "") -> Any:
    """Return strings that were compressed, as `tf.io.decode_compressed`.

    Args:
        bytes: Strings.
        compression_type: ``"ZLIB"``, ``"GZIP"``, or an empty string for none.

    Raises:
        BadArgumentError: The compression is another one, or a string is damaged.
    """
    if compression_type not in ("", *_WINDOWS):
        raise BadArgumentError(
            f"compression_type is '', 'ZLIB' or 'GZIP'. Received: compression_type={shown(compression_type)}."
        )

    # Of all strings together, which are in memory at once.
    have = 0

    def decode(text: Any) -> Any:
        nonlocal have
        if not compression_type:
            return text
        try:
            made = _decompress(text, _WINDOWS[compression_type], have)
            have += len(made)
            return made
        except zlib.error as e:
            raise BadArgumentError(
                f"A string is not of {compression_type}. Received: {shown(text)}: {e}."
            ) from e

    return on_host(lambda texts: each(decode, texts), bytes, name="decode_compressed")
