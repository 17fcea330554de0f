"""Records at known places: all of them, in order, and the first that is damaged by its number."""

import os

import numpy as np
import pytest

from stratax.data import TFRecordWriter
from stratax.data.readers._tfrecord_index import scan
from stratax.data.records import BadRecordError, read_records

LENGTHS = [0, 1, 5000, 7, 3_000_000, 7, 7, 20]


@pytest.fixture
def file(tmp_path):
    with TFRecordWriter(tmp_path / "a") as writer:
        for number, length in enumerate(LENGTHS):
            writer.write(bytes([number]) * length)
    return tmp_path / "a"


def read(file, places, check_crc=True):
    bounds = scan(str(file)) if file.name == "a" else scan(str(file.with_name("a")))
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return read_records(descriptor, bounds[places], bounds[np.array(places) + 1], check_crc=check_crc)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("places", [[0], [7], [0, 1, 2, 3], [1, 1, 3, 5, 5, 7], list(range(8))])
def test_records_come_in_the_order_asked_for(file, places):
    assert read(file, places) == [bytes([i]) * LENGTHS[i] for i in places]


@pytest.mark.parametrize(("place", "is_data"), [(0, False), (9, False), (13, True), (-1, True)])
def test_what_is_damaged_is_reported_by_its_number(file, place, is_data):
    content = bytearray(file.read_bytes())
    begin, end = scan(str(file))[[3, 4]]
    content[begin + place if place >= 0 else end + place] ^= 1
    changed = file.with_name("changed")
    changed.write_bytes(content)
    with pytest.raises(BadRecordError) as caught:
        read(changed, [1, 2, 3, 5])
    assert (caught.value.index, caught.value.is_data) == (2, is_data)
    if is_data:
        assert len(read(changed, [3], check_crc=False)[0]) == 7


@pytest.mark.parametrize("cut", [1, 4, 8, 30, 36])
def test_what_is_cut_off_is_reported(file, cut):
    changed = file.with_name("changed")
    changed.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(BadRecordError) as caught:
        read(changed, [5, 7])
    assert (caught.value.index, caught.value.is_data) == (1, False)
