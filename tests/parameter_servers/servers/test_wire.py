"""Messages of arrays keep every number, and damaged ones are refused before anything is allocated."""

import json

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest

from stratax.errors import BadTypeError, DataLossError
from stratax.parameter_servers.servers import _wire

MOST = 1 << 30


class Pipe:
    """Stands for a stream: what one side writes the other one reads."""

    def __init__(self):
        self.chunks = []

    def write_with_metadata(self, batch, metadata):
        self.chunks.append(Chunk(batch, pa.py_buffer(metadata)))

    def write_batch(self, batch):
        self.chunks.append(Chunk(batch, None))

    def read_chunk(self):
        if not self.chunks:
            raise StopIteration
        return self.chunks.pop(0)


class Chunk:
    def __init__(self, data, app_metadata):
        self.data = data
        self.app_metadata = app_metadata


def through(header, arrays):
    pipe = Pipe()
    _wire.send(pipe, header, arrays)
    return _wire.receive(pipe, MOST)


@pytest.mark.parametrize(
    "array",
    [
        np.float32(3.5),
        np.zeros((0, 4), np.int8),
        np.arange(7, dtype=np.uint8),
        np.arange(6.0).reshape(2, 3).T,
        np.array([True, False]),
        np.arange(5, dtype=ml_dtypes.bfloat16),
        np.array([1 + 2j]),
        np.arange(10_000, dtype=np.int64),
        np.random.default_rng(0).normal(size=(3, 1 << 20)).astype("float32"),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_an_array_arrives_as_it_was_sent(array):
    header, (found,) = through({"op": "pull"}, [array])
    assert header == {"op": "pull"}
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(found, array)


def test_arrays_of_all_sizes_travel_in_one_message():
    arrays = [np.full(size, index, dtype) for index, (size, dtype) in enumerate(
        [(1, "int8"), (3, "float64"), (50_000, "float32"), (2, "float16"), (3 << 20, "float32"), (0, "int32")]
    )]  # fmt: skip
    _, found = through({}, arrays)
    for have, want in zip(found, arrays, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(have, want)


def test_text_is_refused():
    with pytest.raises(BadTypeError, match="A server keeps numbers.*dtype object"):
        _wire.send(Pipe(), {}, [np.array([b"a"], object)])


def test_the_end_of_a_stream_is_told():
    with pytest.raises(StopIteration):
        _wire.receive(Pipe(), MOST)


def chunk(metadata, data=b""):
    array = pa.array(np.frombuffer(data, np.uint8), pa.uint8())
    return Chunk(
        pa.RecordBatch.from_arrays([array], schema=_wire.SCHEMA), metadata and pa.py_buffer(metadata)
    )


@pytest.mark.parametrize(
    ("chunks", "received"),
    [
        ([chunk(None)], "no header"),
        ([chunk(b"{")], "a header that can't be read"),
        ([chunk(b"[" * 100_000)], "a header that can't be read"),
        ([chunk(b"[]")], "a header that can't be read"),
        ([chunk(b'{"header": 1, "arrays": []}')], "a header without names"),
        ([chunk(b'{"header": {}, "arrays": [["object", [1]]]}')], "a header that can't be read"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [-1]]]}')], "a header that can't be read"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [2.5]]]}')], "a header that can't be read"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [99999999999]]]}')], "of which 1073741824 are allowed"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [4]]]}', b"abc")], "3 bytes where an array has 4"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [2]]]}', b"abc")], "3 bytes where arrays have 2"),
        ([chunk(b'{"header": {}, "arrays": [["int8", [100000]]]}'), chunk(None, b"abc")], "3 bytes where an array"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused(chunks, received):
    pipe = Pipe()
    pipe.chunks = chunks
    with pytest.raises(DataLossError, match=f"damaged, or of another version.*{received}"):
        _wire.receive(pipe, MOST)


def test_a_huge_header_is_not_parsed():
    pipe = Pipe()
    pipe.chunks = [chunk(json.dumps({"header": {"x": "a" * (17 << 20)}, "arrays": []}).encode())]
    with pytest.raises(DataLossError, match="a header of"):
        _wire.receive(pipe, MOST)
