import os
import pathlib

import fsspec
import pytest

from stratax.command.convert import _listing, _shard
from stratax.errors import DataLossError
from tests.command.convert.pictures import names_in, records_of, write_tree


def task_for(tmp_path, **changes):
    listing = _listing.list_images(tmp_path / "images")
    (tmp_path / "parts").mkdir(exist_ok=True)
    options = {
        "index": 2,
        "path": str(tmp_path / "train-00002-of-00003.tfrecord"),
        "parts": str(tmp_path / "parts"),
        "root": listing.root,
        "pictures": listing.pictures,
        "classes": listing.classes,
        "label_offset": 1,
        "resize": None,
        "quality": 95,
        "skip_broken": False,
    }
    return _shard.ShardTask(**options | changes)


def test_a_file_has_the_records_of_its_images_in_order(tmp_path):
    write_tree(tmp_path / "images")
    task = task_for(tmp_path, label_offset=5)
    result = _shard.make_shard(task)
    records = records_of([task.path])
    assert [record["image/filename"] for record in records] == [[p.name.encode()] for p in task.pictures]
    assert [record["image/class/label"] for record in records] == [[5]] * 4 + [[6]] * 4
    assert [record["image/class/text"] for record in records] == [[b"cat"]] * 4 + [[b"dog"]] * 4
    assert (result.images, result.size, result.skipped) == (8, os.path.getsize(task.path), ())
    with _shard.Meter(task.parts) as meter:
        assert meter.read(2) == (os.getpid(), 8, 0)
        assert meter.read(0) == (0, 0, 0)
        assert meter.read(9) == (0, 0, 0)


def test_broken_and_missing_images_are_left_out_by_name(tmp_path):
    write_tree(tmp_path / "images")
    (tmp_path / "images/cat/001.jpg").write_bytes(b"\xff\xd8\xff and no more")
    task = task_for(tmp_path, skip_broken=True)
    (tmp_path / "images/dog/002.jpg").unlink()
    result = _shard.make_shard(task)
    assert [name for name, _ in result.skipped] == ["cat/001.jpg", "dog/002.jpg"]
    assert "No such file" in result.skipped[1][1]
    assert result.images == 6
    assert "cat/001.jpg" not in names_in([task.path])


def test_a_broken_image_leaves_no_file_if_it_is_not_to_be_skipped(tmp_path):
    write_tree(tmp_path / "images")
    (tmp_path / "images/dog/001.jpg").write_bytes(b"")
    task = task_for(tmp_path)
    with pytest.raises(DataLossError, match="'dog/001.jpg'"):
        _shard.make_shard(task)
    assert not os.path.exists(task.path)
    assert [path.name for path in pathlib.Path(task.parts).iterdir()] == ["progress"]


def test_an_image_may_lie_behind_a_url(tmp_path):
    write_tree(tmp_path / "images", ("cat",), 1)
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe("/bucket/a.jpg", (tmp_path / "images/cat/000.jpg").read_bytes())
    pictures = (
        _listing.Picture("memory://bucket/a.jpg", 0, -1),
        _listing.Picture("memory://bucket/b.jpg", 0, -1),
    )
    task = task_for(tmp_path, pictures=pictures, skip_broken=True)
    result = _shard.make_shard(task)
    assert names_in([task.path]) == ["memory://bucket/a.jpg"]
    assert [name for name, _ in result.skipped] == ["memory://bucket/b.jpg"]


def test_a_full_disk_is_no_broken_image(tmp_path, monkeypatch):
    write_tree(tmp_path / "images")

    def write(self, record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_shard.TFRecordWriter, "write", write)
    with pytest.raises(OSError, match="No space left"):
        _shard.make_shard(task_for(tmp_path, skip_broken=True))
