"""A function that fails on a record says in which file, as which record and at which byte it stands."""

import gzip
import time

import numpy as np
import pytest

from stratax import image
from stratax.data import (
    BytesList,
    Dataset,
    Example,
    Feature,
    Features,
    FixedLenFeature,
    FixedLengthRecordDataset,
    Int64List,
    TextLineDataset,
    TFRecordDataset,
    TFRecordWriter,
    parse_example,
    parse_single_example,
)
from stratax.data.records import Origins, TFRecordFormat
from stratax.data.records import _origins as origins_module
from stratax.data.records._origins import Origin
from stratax.errors import DataError, DataLossError

FEATURES = {"a": FixedLenFeature([], np.int64)}
FRAME = 16


def example(**values):
    feature = {key: Feature(int64_list=Int64List(value=[value])) for key, value in values.items()}
    return Example(features=Features(feature=feature)).SerializeToString()


def written(path, records, options=None):
    with TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def offset_of(records, index):
    return sum(len(record) + FRAME for record in records[:index])


def parse(record):
    return parse_single_example(record, FEATURES)


def error_of(dataset):
    with pytest.raises(DataError) as caught:
        list(dataset)
    return caught.value


@pytest.fixture
def records():
    return [example(a=i) if i != 7 else example(b=1) for i in range(12)]


@pytest.mark.parametrize(
    "make",
    [
        lambda name: TFRecordDataset(name).map(parse),
        lambda name: TFRecordDataset(name, index=True).map(parse),
        lambda name: TFRecordDataset(name, index=True).shuffle(12, seed=2).map(parse, num_parallel_calls=2),
        lambda name: TFRecordDataset([name, name], num_parallel_reads=2).map(parse),
        lambda name: TFRecordDataset(name).shuffle(5, seed=1).map(parse, num_parallel_calls=2).prefetch(2),
        lambda name: Dataset.from_tensors(name).interleave(TFRecordDataset, num_parallel_calls=2).map(parse),
        lambda name: TFRecordDataset(name).batch(5).map(lambda batch: parse_example(batch, FEATURES)),
        lambda name: TFRecordDataset(name).filter(lambda record: parse(record)["a"] >= 0),
    ],
)
def test_an_example_that_does_not_parse_is_named(tmp_path, records, make):
    name = written(tmp_path / "examples", records)
    error = error_of(make(name))
    assert (error.filename, error.record, error.offset) == (name, 7, offset_of(records, 7))
    assert f"It came from record 7 of {name!r}, at byte {error.offset}." in error.__notes__


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_in_compressed_files_the_byte_is_that_of_the_content(tmp_path, records, compression):
    name = written(tmp_path / "examples", records, compression)
    error = error_of(TFRecordDataset(name, compression).map(parse))
    assert (error.filename, error.record, error.offset) == (name, 7, offset_of(records, 7))


def test_an_image_that_was_parsed_before_is_named_too(tmp_path):
    contents = [image.encode_jpeg(np.full((8, 8, 3), i * 20, np.uint8)) for i in range(3)]
    contents[1] = contents[1][:200]
    values = [Feature(bytes_list=BytesList(value=[content])) for content in contents]
    records = [Example(features=Features(feature={"i": value})).SerializeToString() for value in values]
    name = written(tmp_path / "images", records)
    parsed = TFRecordDataset(name).map(
        lambda record: parse_single_example(record, {"i": FixedLenFeature([], object)})
    )
    images = parsed.map(lambda values: image.decode_jpeg(values["i"]))
    error = error_of(images)
    assert isinstance(error, DataLossError)
    assert (error.filename, error.record) == (name, 1)


def test_errors_of_others_get_a_note(tmp_path):
    name = written(tmp_path / "words", [b"1", b"2", b"three"])
    with pytest.raises(ValueError, match="three") as caught:
        list(TFRecordDataset(name).map(int))
    assert caught.value.__notes__[-1] == f"It came from record 2 of {name!r}, at byte {2 * (FRAME + 1)}."


def test_lines_and_records_of_fixed_length_are_named(tmp_path):
    lines = tmp_path / "lines.gz"
    lines.write_bytes(gzip.compress(b"1\r\n22\r\nx3\r\n"))
    fixed = tmp_path / "fixed"
    fixed.write_bytes(b"##" + b"11" + b"22" + b"x3" + b"#")
    for dataset, offset in (
        (TextLineDataset(str(lines), "GZIP"), 7),
        (FixedLengthRecordDataset(str(fixed), 2, header_bytes=2, footer_bytes=1), 6),
    ):
        with pytest.raises(ValueError, match="x3") as caught:
            list(dataset.map(int))
        assert f"record 2 of '{tmp_path}" in caught.value.__notes__[-1]
        assert f"at byte {offset}." in caught.value.__notes__[-1]


def test_the_log_of_ignored_errors_names_the_record(tmp_path, records, caplog):
    name = written(tmp_path / "examples", records)
    assert len(list(TFRecordDataset(name).map(parse).ignore_errors(log_warning=True))) == 11
    assert f"record 7 of {name!r}" in caplog.text


def test_elements_that_come_from_no_file_are_identified_by_their_number_alone():
    error = error_of(Dataset.from_tensor_slices([example(a=1), example()]).map(parse))
    assert error.filename is None
    assert len(error.__notes__) == 1


def noted(name, records):
    origins = Origins()
    piece = TFRecordFormat().open(name).read()
    assert len(piece.records) == len(records)
    origins.note_piece(name, TFRecordFormat(), piece)
    return origins


def test_a_file_that_is_gone_or_another_one_has_no_origins(tmp_path):
    path = tmp_path / "file"
    origins = noted(written(path, [b"aa", b"bb"]), [b"aa", b"bb"])
    assert origins.find(b"bb") == Origin(str(path), 1, FRAME + 2)
    assert origins.find(b"cc") is None
    path.write_bytes(b"short")
    assert origins.find(b"bb") is None
    path.unlink()
    assert origins.find(b"bb") is None


def test_the_oldest_places_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(origins_module, "_MOST_RECORDS", 4)
    names = [written(tmp_path / str(i), [b"%d%d" % (i, j) for j in range(3)]) for i in range(3)]
    origins = Origins()
    for name in names:
        origins.note_piece(name, TFRecordFormat(), TFRecordFormat().open(name).read())
    assert origins.find(b"02") is None
    assert origins.find(b"22") == Origin(names[2], 2, 2 * (FRAME + 2))


def test_looking_ends_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(origins_module, "_MOST_SECONDS", 0.05)
    origins = noted(written(tmp_path / "file", [b"%03d" % i for i in range(500)]), [None] * 500)
    begin = time.monotonic()
    while origins.find(b"none") is None and origins._seconds_left > 0:
        assert time.monotonic() - begin < 10
        origins.find(b"xyz")
    assert origins.find(b"007") is None
