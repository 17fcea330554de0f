"""What claims to be huge is an error with a named limit before memory is taken, and MemoryError never comes alone."""

import gzip
import io
import resource
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import stratax.tf as tf
from stratax import image
from stratax.data import CsvDataset, TextLineDataset, TFRecordDataset, TFRecordWriter, make_csv_dataset
from stratax.data.records._tfrecord_reader import header_of
from stratax.errors import BadArgumentError, DataLossError
from stratax.io import open_bytes
from stratax.io._streams import LocalBytes

MEGABYTE = 1 << 20


def bomb(path, start, kind="GZIP", size=60 * MEGABYTE):
    """A small file that holds `start` and then very many zeros."""
    machine = zlib.compressobj(1, wbits=31 if kind == "GZIP" else 15)
    zeros = bytes(MEGABYTE)
    content = machine.compress(start) + b"".join(machine.compress(zeros) for _ in range(size // MEGABYTE))
    path.write_bytes(content + machine.flush())
    assert path.stat().st_size < 2 * MEGABYTE
    return str(path)


def peak():
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture
def first(tmp_path):
    path = tmp_path / "first"
    with TFRecordWriter(str(path)) as writer:
        writer.write(b"good")
    return path.read_bytes()


class TestRecords:
    @pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
    def test_a_claim_of_ten_gigabytes_takes_no_memory(self, tmp_path, first, kind):
        path = bomb(tmp_path / "bomb", first + header_of(10 << 30), kind)
        iterator = iter(TFRecordDataset(path, kind))
        before = peak()
        assert next(iterator) == b"good"
        with pytest.raises(
            DataLossError, match=rf"claims to have {10 << 30} bytes, more than max_record_bytes"
        ) as caught:
            next(iterator)
        assert peak() - before < 40 * MEGABYTE
        assert (caught.value.filename, caught.value.record, caught.value.offset) == (path, 1, len(first))
        assert list(iterator) == []

    def test_a_sparse_file_is_no_way_around(self, tmp_path, first):
        path = tmp_path / "sparse"
        path.write_bytes(first + header_of(10 << 30))
        with open(path, "r+b") as file:
            file.truncate(11 << 30)
        with pytest.raises(DataLossError, match="more than max_record_bytes"):
            list(TFRecordDataset(str(path)))
        indexed = TFRecordDataset(str(path), index=True).take(2)
        with pytest.raises(DataLossError, match=r"more than max_record_bytes.*record=1"):
            list(indexed)

    def test_the_limit_is_exact_and_can_be_set(self, tmp_path):
        path = str(tmp_path / "records")
        with TFRecordWriter(path) as writer:
            for size in (100, 101, 5):
                writer.write(bytes(size))
        assert [len(data) for data in TFRecordDataset(path, max_record_bytes=101)] == [100, 101, 5]
        short = TFRecordDataset(path, max_record_bytes=100)
        assert [len(data) for data in short.ignore_errors()] == [100]
        assert len(list(short.skip(1).ignore_errors())) == 0
        indexed = TFRecordDataset(path, index=True, max_record_bytes=100)
        assert [len(data) for data in indexed.ignore_errors()] == [100, 5]
        for wrong in (0, -1):
            with pytest.raises(BadArgumentError, match="max_record_bytes"):
                TFRecordDataset(path, max_record_bytes=wrong)


class TestLines:
    def test_a_line_without_an_end(self, tmp_path):
        path = bomb(tmp_path / "lines", b"one\n")
        iterator = iter(TextLineDataset(path, "GZIP", max_line_bytes=MEGABYTE))
        before = peak()
        assert next(iterator) == b"one"
        with pytest.raises(DataLossError, match=f"more than max_line_bytes={MEGABYTE} bytes") as caught:
            next(iterator)
        assert peak() - before < 40 * MEGABYTE
        assert (caught.value.filename, caught.value.record, caught.value.offset) == (path, 1, 4)
        assert list(iterator) == []

    def test_the_limit_can_be_set(self, tmp_path):
        path = tmp_path / "lines"
        path.write_bytes(b"x" * 5000 + b"\nlast\n")
        assert [len(line) for line in TextLineDataset(str(path), buffer_size=10)] == [5000, 4]
        with pytest.raises(DataLossError, match="Pass a larger max_line_bytes"):
            list(TextLineDataset(str(path), buffer_size=10, max_line_bytes=100))
        with pytest.raises(BadArgumentError, match="max_line_bytes"):
            TextLineDataset(str(path), max_line_bytes=0)


class TestCsv:
    @pytest.mark.parametrize(
        "start", [b"1,a\n", b'1,a\n2,"', b'1,a\n"\n","\n",'], ids=["line", "quote", "fields"]
    )
    def test_a_record_without_an_end(self, tmp_path, start):
        content = start + (b'"\n",' * 10**6 if start.endswith(b",") else bytes(5 * MEGABYTE))
        path = tmp_path / "table.csv.gz"
        path.write_bytes(gzip.compress(content))
        iterator = iter(CsvDataset(str(path), [0, ""], "GZIP", max_record_bytes=MEGABYTE))
        assert next(iterator)[1] == b"a"
        with pytest.raises(DataLossError, match=f"more than max_record_bytes={MEGABYTE} bytes") as caught:
            next(iterator)
        assert (caught.value.filename, caught.value.record) == (str(path), 1)

    def test_make_csv_dataset_has_the_limit(self, tmp_path):
        path = tmp_path / "table.csv"
        path.write_bytes(b"n,t\n1," + b"x" * 2000 + b"\n")
        options = {"num_epochs": 1, "shuffle": False}
        assert len(next(iter(make_csv_dataset(str(path), 1, **options)))["t"][0]) == 2000
        with pytest.raises(DataLossError, match="more than max_record_bytes=1000"):
            list(make_csv_dataset(str(path), 1, max_record_bytes=1000, **options))


def gif(count, size=50):
    frames = [Image.fromarray(np.full((size, size), i % 250, np.uint8)) for i in range(count)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    return file.getvalue()


def claiming(contents, width, height):
    """A GIF whose header tells another size."""
    return contents[:6] + struct.pack("<HH", width, height) + contents[10:]


class TestImages:
    def test_animations_count_all_their_images(self):
        contents = gif(4)
        assert image.decode_gif(contents, max_pixels=4 * 2500).shape == (4, 50, 50, 3)
        for decode in (image.decode_gif, image.decode_image):
            with pytest.raises(DataLossError, match="at most max_pixels=9999 pixels. Received: 4 x 50 x 50"):
                decode(contents, max_pixels=9999)

    def test_a_large_canvas_in_every_frame(self):
        contents = claiming(gif(100), 2000, 2000)
        before = peak()
        with pytest.raises(DataLossError, match="Received: 100 x 2000 x 2000 pixels"):
            image.decode_gif(contents)
        assert peak() - before < 40 * MEGABYTE

    @pytest.mark.parametrize("kind", ["PNG", "BMP", "JPEG"])
    def test_single_images(self, kind):
        file = io.BytesIO()
        Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(file, kind)
        decoders = {"PNG": image.decode_png, "BMP": image.decode_bmp, "JPEG": image.decode_jpeg}
        for decode in (decoders[kind], image.decode_image):
            assert decode(file.getvalue(), max_pixels=600).shape == (20, 30, 3)
            with pytest.raises(DataLossError, match="at most max_pixels=599 pixels"):
                decode(file.getvalue(), max_pixels=599)
        if kind == "JPEG":
            with pytest.raises(DataLossError, match="at most max_pixels=599 pixels"):
                image.decode_and_crop_jpeg(file.getvalue(), [0, 0, 2, 2], max_pixels=599)


def no_memory(*_):
    raise MemoryError


class TestMemoryErrors:
    @pytest.mark.parametrize(
        "make",
        [TFRecordDataset, TextLineDataset, lambda path: CsvDataset(path, [""])],
        ids=["tfrecord", "text", "csv"],
    )
    def test_readers_name_the_file(self, tmp_path, monkeypatch, make):
        path = tmp_path / "file"
        path.write_bytes(b"content")
        monkeypatch.setattr(LocalBytes, "more", no_memory)
        with pytest.raises(DataLossError, match="does not fit into memory") as caught:
            list(make(str(path)))
        assert caught.value.filename == str(path)
        assert list(make(str(path)).ignore_errors()) == []

    def test_whole_files_name_the_file(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        path.write_bytes(b"content")
        file = tf.io.gfile.GFile(str(path), "rb")
        monkeypatch.setattr(file, "_file", no_memory)
        with pytest.raises(DataLossError, match="does not fit into memory.*piece by"):
            file.read()


def test_damage_deep_in_a_bomb_takes_no_memory(tmp_path):
    content = bytearray(gzip.compress(bytes(50 * MEGABYTE)))
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "damaged"
    path.write_bytes(content)
    stream = open_bytes(str(path), "GZIP")
    total = 0
    while piece := stream.more(b"", 1000):
        assert len(piece) <= 1000
        total += len(piece)
    assert total < 50 * MEGABYTE
    assert stream.damage is not None
    stream.close()
