"""Elements as bytes and back, and bytes that are none."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratax.data.elements import decode_records, encode_columns

NAMES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "bfloat16"]
DTYPES = [np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES]


@st.composite
def columns(draw):
    count = draw(st.integers(1, 4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        shape = (count, *draw(st.lists(st.integers(0, 3), max_size=3)))
        seed = draw(st.integers(0, 99))
        if draw(st.booleans()):
            column = np.empty(shape, object)
            column.reshape(-1)[:] = [bytes([seed]) * (i % 5) for i in range(column.size)]
        else:
            values = np.random.default_rng(seed).integers(0, 100, shape)
            column = values.astype(draw(st.sampled_from(DTYPES)))
        found.append(column)
    return found, count


@given(columns())
@settings(max_examples=100, deadline=None)
def test_elements_come_back_as_they_were(drawn):
    found, count = drawn
    _, records = encode_columns(found, count)
    block = decode_records(records, [column.dtype for column in found])
    assert block.count == count
    for have, want in zip(block.columns(), found, strict=True):
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        assert have.tolist() == want.tolist()


def test_it_stops_where_shapes_change():
    _, short = encode_columns([np.zeros((2, 3))], 2)
    _, long = encode_columns([np.zeros((1, 4))], 1)
    assert decode_records([*short, *long], [np.dtype("float64")]).count == 2


@given(
    st.binary(max_size=60),
    st.lists(st.sampled_from([np.dtype("O"), np.dtype("float32")]), min_size=1, max_size=2),
)
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_element_or_refused(content, dtypes):
    try:
        block = decode_records([content], dtypes)
    except ValueError:
        return
    assert encode_columns(block.columns(), 1)[1] == [content]


@pytest.mark.parametrize("columns", [[np.array([b"ab", b"c"], object), np.arange(2)], [np.arange(2)]])
def test_a_record_that_is_longer_or_shorter_than_the_others_is_refused(columns):
    _, (first, second) = encode_columns(columns, 2)
    dtypes = [column.dtype for column in columns]
    assert decode_records([first, second], dtypes).count == 2
    for damaged in ([first, second[:-1]], [first + b"x", second[:-1]], [first, second + b"x"]):
        with pytest.raises(ValueError, match=r"ends within|more bytes|bytes was expected"):
            decode_records(damaged, dtypes)


@pytest.mark.parametrize("component", [b"text", np.float32(1)])
def test_sizes_are_not_believed(component):
    column = np.array([component], object if isinstance(component, bytes) else None)
    _, (record,) = encode_columns([column], 1)
    huge = b"\x01" + (1 << 60).to_bytes(8, "little") + record[1:]
    with pytest.raises(ValueError, match=r"ends within|bytes was expected"):
        decode_records([huge], [column.dtype])
    negative = b"\x01" + (-1).to_bytes(8, "little", signed=True) + record[1:]
    with pytest.raises(ValueError, match="negative size"):
        decode_records([negative], [column.dtype])
