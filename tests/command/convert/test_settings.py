import fsspec
import pytest

from stratax.command import convert
from stratax.command.convert import _settings
from stratax.errors import BadArgumentError, DataError, FileMissingError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shards": 0}, "shards is out of range.*1 to 99999.*shards=0"),
        ({"quality": 101}, "quality is out of range"),
        ({"quality": 9.5}, "quality is out of range"),
        ({"resize": 0}, "resize is out of range"),
        ({"resize": (224, 0)}, "resize=0"),
        ({"name": "a/b"}, "name='a/b'"),
        ({"name": ""}, "name of the files can't be used"),
        ({"name": "-x"}, "beginning with a letter"),
        ({"name": 3}, "name=3"),
        ({"resize": (1, 2, 3)}, "a pair of them.*resize=.1, 2, 3."),
        ({"resize": (None, 2)}, "resize=None"),
        ({"label_offset": 0.5}, "label_offset is out of range"),
        ({"seed": "x"}, "seed is out of range"),
    ],
)
def test_a_setting_that_can_not_work_is_refused(settings, message):
    with pytest.raises(BadArgumentError, match=message):
        convert.ConversionSettings(**settings)


def test_classes_are_read_one_from_each_line(tmp_path):
    (tmp_path / "labels.txt").write_bytes("\ufeffcat\n\n  Wolfshündin \r\ndog\nsea\u2028lion".encode())
    assert convert.read_classes(tmp_path / "labels.txt") == ("cat", "Wolfshündin", "dog", "sea\u2028lion")
    fsspec.filesystem("memory").pipe("/classes/labels.txt", b"cat\ndog\n")
    assert convert.read_classes("memory://classes/labels.txt") == ("cat", "dog")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cat\ndog\ncat\n", "names 'cat' twice"),
        (b"\n", "names no class"),
        (b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_a_wrong_list_of_classes_is_refused(content, message, tmp_path):
    (tmp_path / "labels.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        convert.read_classes(tmp_path / "labels.txt")


def test_a_list_of_classes_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileMissingError, match="no such file.*nowhere"):
        convert.read_classes(tmp_path / "nowhere")


def test_files_are_named_as_tensorflow_names_them():
    assert _settings.shard_name("val", 12, 128) == "val-00012-of-00128.tfrecord"
