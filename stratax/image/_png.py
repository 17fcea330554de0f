"""Whether the bytes of a PNG file are whole (image layer)."""

import zlib

from stratax.image._files import make_damage_error

_SIGNATURE_SIZE = 8
_HEAD_SIZE = 8
_CHECKSUM_SIZE = 4


def check_whole(data: bytes, who: str) -> None:
    """Check the checksums of a PNG file up to its end mark, as libpng does and Pillow does not.

    Pillow stops as soon as it has all pixels: it misses the checksum of the last of them, and the end of the file.
    Chunks that a reader may ignore are not checked, which is libpng's rule.

    Args:
        data: The bytes of the file.
        who: The function, for messages.

    Raises:
        DataLossError: If a chunk is damaged, or the file is cut off.
    """
    view, at = memoryview(data), _SIGNATURE_SIZE
    while True:
        end = at + _HEAD_SIZE + int.from_bytes(view[at : at + 4], "big")
        # The length is not checked by any checksum: it may lead anywhere.
        if at + _HEAD_SIZE > len(data) or end + _CHECKSUM_SIZE > len(data):
            raise make_damage_error(data, who, f"the file ends within the chunk at byte {at}")
        kind = bytes(view[at + 4 : at + _HEAD_SIZE])
        expected = int.from_bytes(view[end : end + _CHECKSUM_SIZE], "big")
        # Capital letters mark the chunks that are needed for the image; libpng ignores damage in others.
        if kind[:1].isupper() and zlib.crc32(view[at + 4 : end]) != expected:
            raise make_damage_error(data, who, f"the checksum of the chunk at byte {at} is wrong")
        if kind == b"IEND":
            return
        at = end + _CHECKSUM_SIZE
