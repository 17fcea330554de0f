"""The description of a saved dataset: damaged, made by others, or leading elsewhere."""

import io
import pathlib

import crc32c
import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.snapshots._snapshot import FORMAT, SPEC_FILE, VERSION
from stratax.errors import DataLossError, FileMissingError
from stratax.io import seal_text, unseal_text


def shards_of(folder):
    return sorted(pathlib.Path(folder).glob("*/shard-*.tfrecord"))


def description_of(folder):
    return unseal_text((folder / SPEC_FILE).read_bytes())


def described(folder, **changes):
    """Changes a description, as somebody would who knows how its checksum is made."""
    (folder / SPEC_FILE).write_bytes(seal_text({**description_of(folder), **changes}))


def written(folder, index, content):
    """Changes an index, likewise."""
    index.write_bytes(content)
    (shard,) = description_of(folder)["shards"]
    described(folder, shards=[{**shard, "index_crc32c": crc32c.crc32c(content)}])


def npy(array):
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def test_a_flipped_bit_in_the_description_is_noticed(tmp_path):
    Dataset.from_tensor_slices(np.zeros((4, 487), np.uint8)).save(tmp_path)
    content = (tmp_path / SPEC_FILE).read_bytes()
    for place in range(len(content)):
        (tmp_path / SPEC_FILE).write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        with pytest.raises(DataLossError, match="description of saved elements is damaged"):
            Dataset.load(tmp_path)


def test_damaged_folders_are_named(tmp_path):
    Dataset.range(20).save(tmp_path)
    (file,) = shards_of(tmp_path)
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(DataLossError, match=f"^A file of .* another size.*Expected: {len(content)} bytes"):
        Dataset.load(tmp_path)
    file.unlink()
    with pytest.raises(FileMissingError, match="A file of saved elements is not there") as caught:
        Dataset.load(tmp_path)
    assert caught.value.filename == str(file)
    file.write_bytes(content)
    index = file.with_suffix(".index")
    good = index.read_bytes()
    table = np.load(index)
    for bad in (b"", good[:-8]):
        index.write_bytes(bad)
        with pytest.raises(DataLossError, match="index of a file of saved elements is damaged: its checksum"):
            list(Dataset.load(tmp_path))
        written(tmp_path, index, bad)
        with pytest.raises(DataLossError, match="index of a file of saved elements is damaged"):
            list(Dataset.load(tmp_path))
    for bad, message in [(table[:3], "it has shape"), (table + (1 << 40), "points outside")]:
        written(tmp_path, index, npy(bad))
        with pytest.raises(DataLossError, match=message):
            list(Dataset.load(tmp_path))
    for kind, message in [
        ({"format": "other"}, "format 'other'"),
        ({"version": 1}, "version 1 instead of 2"),
    ]:
        described(tmp_path, **kind)
        with pytest.raises(DataLossError, match=f"description of saved elements is damaged: {message}"):
            Dataset.load(tmp_path)
        described(tmp_path, format=FORMAT, version=VERSION)
    (tmp_path / "dataset_spec.json").write_text("{")
    with pytest.raises(DataLossError, match="description of saved elements is damaged"):
        Dataset.load(tmp_path)


def test_a_pickle_is_not_loaded(tmp_path):
    Dataset.range(2).save(tmp_path)
    (file,) = shards_of(tmp_path)
    written(tmp_path, file.with_suffix(".index"), npy(np.array([print], dtype=object)))
    with pytest.raises(DataLossError, match="allow_pickle=False"):
        list(Dataset.load(tmp_path))


def save(folder):
    Dataset.range(10).save(folder)


def load(folder):
    return list(Dataset.load(folder))


@pytest.mark.parametrize("run", ["../precious", "", ".", 3])
def test_no_name_in_a_description_leads_out_of_the_folder(tmp_path, run):
    folder, precious = tmp_path / "saved", tmp_path / "precious"
    precious.mkdir()
    save(folder)
    described(folder, run=run)
    with pytest.raises(
        DataLossError, match="description of saved elements is damaged: (name|expected string)"
    ):
        load(folder)
    save(folder)
    assert len(load(folder)) == 10
    assert precious.is_dir()


@pytest.mark.parametrize(
    "shard",
    [
        {"file": "../../x"},
        {"index": "/etc/passwd"},
        {"index_crc32c": "1"},
        {"count": -1},
        {"count": "3"},
        {"size": None},
    ],
)
def test_a_description_with_other_files_or_counts_is_damaged(tmp_path, shard):
    save(tmp_path)
    (first,) = description_of(tmp_path)["shards"]
    described(tmp_path, shards=[{**first, **shard}])
    with pytest.raises(DataLossError, match="description of saved elements is damaged: (name|count)"):
        load(tmp_path)
