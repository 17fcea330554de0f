"""A writer holds its folder until it is done."""

import os

from stratax.data import Dataset, TensorSpec
from stratax.data.snapshots._writer import SnapshotWriter


def folders(path):
    return {entry.name for entry in os.scandir(path) if entry.is_dir()}


def test_a_writer_holds_its_folder_until_it_is_done(tmp_path):
    one, other = (SnapshotWriter(str(tmp_path), TensorSpec((), "int64")) for _ in range(2))
    SnapshotWriter(str(tmp_path), TensorSpec((), "int64")).abandon()
    assert len(folders(tmp_path)) == 2
    one.commit(replace=True)
    other.commit(replace=True)
    Dataset.range(2).save(tmp_path)
    assert len(folders(tmp_path)) == 1
