"""TensorFlow's tables: what no writer of today makes, and what is no table."""

import struct

import pyarrow as pa
import pytest

from stratax.data.records import compute_masked_crc
from stratax.tensorflow.checkpoints import _tables


def block(pairs, compress):
    content = b""
    for key, value in pairs:
        content += bytes([0, len(key)]) + varint(len(value)) + key + value
    content += struct.pack("<II", 0, 1)
    kind = b"\0"
    if compress:
        content, kind = pa.Codec("snappy").compress(content, asbytes=True), b"\1"
    return content + kind + struct.pack("<I", compute_masked_crc(content + kind))


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def table(pairs, compress=True):
    data = block(pairs, compress)
    index = block([(b"~", varint(0) + varint(len(data) - 5))], compress)
    footer = varint(0) * 2 + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


@pytest.mark.parametrize("compress", [False, True])
def test_compressed_blocks_are_read(tmp_path, compress):
    # Literals of every length's kind, and copies near and far, some of which repeat what they make.
    noise = b"".join(struct.pack("<I", (each * 2654435761) & 0xFFFFFFFF) for each in range(30000))
    pairs = [(b"a", b"xyz" * 500), (b"b", noise[:70]), (b"c", noise), (b"d", noise[:90000]), (b"e", b"")]
    (tmp_path / "t").write_bytes(table(pairs, compress))
    assert _tables.is_table(tmp_path / "t")
    assert list(_tables.entries(tmp_path / "t")) == pairs


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "only 0 bytes"),
        (b"x" * 100, "does not end as it should"),
        (table([(b"a", b"b")])[1:], r"checksum|cut off"),
    ],
)
def test_something_else_is_refused(tmp_path, content, why):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(_tables.DamagedError, match=why):
        list(_tables.entries(tmp_path / "t"))
    assert not _tables.is_table(tmp_path / "missing")
