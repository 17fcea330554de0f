"""Whatever a TFRecord file holds, reading it ends, raises nothing but errors of the family and needs little memory."""

import gzip
import itertools
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data import TFRecordDataset
from stratax.data.plan import PlanRun
from stratax.data.records import TFRecordFormat
from stratax.data.records._tfrecord_reader import compute_masked_crc
from stratax.errors import DataLossError

COMPRESS = {
    "": bytes,
    "GZIP": lambda content: gzip.compress(content, 1),
    "ZLIB": lambda content: zlib.compress(content, 1),
}


def header_of(length):
    encoded = struct.pack("<Q", length)
    return encoded + struct.pack("<I", compute_masked_crc(encoded))


def encode(records):
    return b"".join(header_of(len(r)) + r + struct.pack("<I", compute_masked_crc(r)) for r in records)


def outcomes(path, compression="", buffer_size=1 << 20, **kwargs):
    """Records, and the places of errors; ends, as every error takes the reader on."""
    cursor = TFRecordDataset(str(path), compression or None, buffer_size, **kwargs)._node.open(PlanRun())
    found = []
    while True:
        try:
            found += cursor.read(1 + len(found) % 7).columns()[0].tolist()
        except StopIteration:
            cursor.close()
            return found
        except DataLossError as e:
            found.append((e.record, e.offset) if e.filename == str(path) else e)


def check(path, content, compression, buffer_size):
    path.write_bytes(content)
    found = outcomes(path, compression, buffer_size)
    assert found == outcomes(path, compression)
    assert [i for i, place in enumerate(found) if isinstance(place, tuple) and place[0] != i] == []
    stream = TFRecordFormat(compression, buffer_size).open(str(path))
    assert stream.skip(1 << 40) == len(found)
    stream.close()
    for count in range(0, len(found) + 1, 1 + len(found) // 4):
        check_restored(path, compression, buffer_size, found, count)
    if not compression:
        assert outcomes(path, index=True) == found
    return found


def check_restored(path, compression, buffer_size, found, count):
    node = TFRecordDataset(str(path), compression or None, buffer_size)._node
    cursor, other = node.open(PlanRun()), node.open(PlanRun())
    assert cursor.skip(count) == count
    other.set_state(cursor.get_state())
    assert other.skip(1 << 40) == len(found) - count
    cursor.close()
    other.close()


pieces = st.one_of(
    st.binary(max_size=40),
    st.builds(header_of, st.sampled_from([0, 1, 5, 100, 1 << 31, (1 << 60) + 1, (1 << 64) - 1])),
    st.builds(encode, st.lists(st.binary(max_size=30), max_size=4)),
    st.sampled_from([b"\x1f\x8b", b"\x78\x9c", gzip.compress(b"x"), b"\0" * 16]),
)


@given(
    parts=st.lists(pieces, max_size=5),
    compression=st.sampled_from(sorted(COMPRESS)),
    is_raw=st.booleans(),
    buffer_size=st.integers(1, 100),
)
@settings(max_examples=150, deadline=None)
def test_anything_is_read_to_its_end(tmp_path_factory, parts, compression, is_raw, buffer_size):
    content = b"".join(parts)
    content = content if is_raw else COMPRESS[compression](content)
    check(tmp_path_factory.mktemp("any") / "a", content, compression, buffer_size)


@given(
    records=st.lists(st.binary(max_size=60), min_size=1, max_size=8),
    compression=st.sampled_from(sorted(COMPRESS)),
    buffer_size=st.integers(1, 100),
    data=st.data(),
)
@settings(max_examples=150, deadline=None)
def test_what_comes_before_a_change_is_read_and_nothing_wrong_is(
    tmp_path_factory, records, compression, buffer_size, data
):
    content = encode(records)
    place = data.draw(st.integers(0, len(content) - 1))
    kind = data.draw(st.sampled_from(["flip", "delete", "insert", "cut"]))
    changed = {
        "flip": content[:place] + bytes([content[place] ^ (1 << place % 8)]) + content[place + 1 :],
        "delete": content[:place] + content[place + 1 + place % 3 :],
        "insert": content[:place] + b"\x07" + content[place:],
        "cut": content[:place],
    }[kind]
    path = tmp_path_factory.mktemp("changed") / "a"
    found = check(path, COMPRESS[compression](changed), compression, buffer_size)
    ends = list(itertools.accumulate(16 + len(record) for record in records))
    before = sum(end <= place for end in ends)
    assert found[:before] == records[:before]
    assert {record for record in found if isinstance(record, bytes)} <= set(records)
    if kind == "flip":
        assert any(isinstance(outcome, tuple) for outcome in found)


@pytest.mark.parametrize("compression", sorted(COMPRESS))
@pytest.mark.parametrize("length", [1 << 28, 1 << 31, 1 << 60, (1 << 64) - 1])
def test_no_length_makes_the_reader_allocate(tmp_path, compression, length):
    content = encode([b"first"]) + header_of(length) + bytes(1 << 20)
    (tmp_path / "a").write_bytes(COMPRESS[compression](content))
    tracemalloc.start()
    try:
        assert outcomes(tmp_path / "a", compression) == [b"first", (1, 21)]
        if not compression:
            assert outcomes(tmp_path / "a", index=True) == [b"first", (1, 21)]
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


def test_little_that_becomes_much_is_not_made_at_once(tmp_path):
    (tmp_path / "a").write_bytes(zlib.compress(encode([bytes(1 << 20)] * 60), 9))
    tracemalloc.start()
    try:
        cursor = TFRecordDataset(str(tmp_path / "a"), "ZLIB")._node.open(PlanRun())
        for _ in range(60):
            assert cursor.read(1).count == 1
        cursor.close()
        assert tracemalloc.get_traced_memory()[1] < 12 << 20
    finally:
        tracemalloc.stop()
