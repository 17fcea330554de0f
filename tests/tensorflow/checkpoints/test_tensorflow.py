"""Checkpoints that TensorFlow wrote are found and read without it."""

import pathlib
import shutil

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.tensorflow.checkpoints.values import NamedValues
from tests.golden import checkpoint_cases

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "checkpoints"


def read_all(path):
    # By name: what says the objects' names is read too.
    values = NamedValues(sx.train.load_checkpoint(path), path)
    return {name: values.value(name) for name in values.names}


def test_they_are_found():
    folder = GOLDEN / "estimator"
    assert sx.train.latest_checkpoint(folder) == str(folder / "model.ckpt-12")
    assert sx.train.get_checkpoint_state(folder).all_model_checkpoint_paths == (
        str(folder / "model.ckpt-12"),
    )
    assert sx.train.checkpoint_exists(folder / "model.ckpt-12")
    assert not sx.train.checkpoint_exists(folder / "model.ckpt-13")
    # A file of it is not its path.
    assert not sx.train.checkpoint_exists(folder / "model.ckpt-12.index")


def test_objects_can_not_be_restored_from_them():
    with pytest.raises(errors.FileMissingError, match="TensorFlow's, which can't be read into objects"):
        sx.train.Checkpoint(step=sx.Variable(0)).restore(GOLDEN / "estimator" / "model.ckpt-12")


def test_a_state_file_may_name_what_is_not_there_and_other_folders(tmp_path, caplog):
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "gone-1"\n')
    assert sx.train.latest_checkpoint(tmp_path) is None
    assert "names a checkpoint that is not there" in caplog.text
    place = tmp_path / 'a "quoted" \xfcmlaut'
    shutil.copytree(GOLDEN / "objects", place)
    # As TensorFlow writes text: quotes and bytes that are no ASCII are escaped.
    quoted = str(place / "ckpt").replace('"', '\\"').replace("\xfc", "\\303\\274")
    lines = [
        f'model_checkpoint_path: "{quoted}"',
        'all_model_checkpoint_paths: "gone-1"',
        "last_preserved: 1.5",
    ]
    (tmp_path / "checkpoint").write_text("\n".join(lines))
    assert sx.train.latest_checkpoint(tmp_path) == str(place / "ckpt")


def test_own_checkpoints_come_first(tmp_path):
    shutil.copytree(GOLDEN / "objects", tmp_path, dirs_exist_ok=True)
    path = sx.train.Checkpoint(step=sx.Variable(3)).write(tmp_path / "own")
    assert sx.train.latest_checkpoint(tmp_path) == str(path)
    assert sx.train.load_variable(tmp_path, "step") == 3


class TestRead:
    def test_variables_by_name(self):
        folder = GOLDEN / "estimator"
        found = dict(sx.train.list_variables(folder))
        assert found["dense/kernel"] == [6, 8]
        assert found["head/dense/kernel/Momentum"] == [8, 3]
        reader = sx.train.load_checkpoint(folder / "model.ckpt-12")
        assert reader.get_variable_to_dtype_map()["global_step"] == np.int64
        assert reader.has_tensor("head/scale")
        assert not reader.has_tensor("scale")
        assert sx.train.load_variable(folder, "global_step:0") == 12
        with np.load(GOLDEN.parent / "estimator.npz") as golden:
            np.testing.assert_array_equal(reader.get_tensor("dense/kernel"), golden["variable dense/kernel"])
        with pytest.raises(errors.BadArgumentError, match="has no such variable"):
            reader.get_tensor("other")

    def test_objects_by_key_and_by_name(self):
        found = dict(sx.train.list_variables(GOLDEN / "objects"))
        key = "model/layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
        assert found[key] == [2, 3]
        assert "_CHECKPOINTABLE_OBJECT_GRAPH" not in found
        np.testing.assert_array_equal(
            sx.train.load_variable(GOLDEN / "objects", key), checkpoint_cases.WEIGHTS[0]
        )
        values = NamedValues(sx.train.load_checkpoint(GOLDEN / "objects"), "objects")
        np.testing.assert_array_equal(values.value("second/kernel"), checkpoint_cases.WEIGHTS[2])
        assert values.value("step") == 7

    @pytest.mark.parametrize("suffix", ["index", "data-00000-of-00001"])
    def test_damage_is_an_error(self, tmp_path, suffix):
        shutil.copytree(GOLDEN / "objects", tmp_path, dirs_exist_ok=True)
        damaged = tmp_path / f"ckpt.{suffix}"
        content = bytearray(damaged.read_bytes())
        content[len(content) // 4] ^= 0xFF
        damaged.write_bytes(content)
        with pytest.raises(errors.DataLossError, match="checkpoint of TensorFlow can't be read"):
            read_all(tmp_path)

    @pytest.mark.parametrize(
        "path", ["version_1/model.ckpt-3", "version_2/model.ckpt-3", "shards/model.ckpt-3"]
    )
    def test_every_dtype_and_slices(self, path):
        reader = sx.train.load_checkpoint(GOLDEN / path)
        expected = checkpoint_cases.many(is_version_2=path.startswith("version_2"))
        assert sorted(reader.get_variable_to_shape_map()) == sorted(expected)
        for name, value in expected.items():
            found = reader.get_tensor(name)
            assert (found.shape, found.dtype.name) == (value.shape, value.dtype.name)
            assert reader.get_variable_to_dtype_map()[name] == value.dtype
            np.testing.assert_array_equal(found, value, err_msg=name)

    def test_a_version_1_folder_has_a_latest(self):
        for folder, path in (("version_1", "model.ckpt-3"), ("shards", "model.ckpt-3-?????-of-00001")):
            assert sx.train.latest_checkpoint(GOLDEN / folder) == str(GOLDEN / folder / path)
            assert sx.train.load_variable(GOLDEN / folder, "global_step") == 3
            assert sx.train.get_checkpoint_state(GOLDEN / folder).all_model_checkpoint_timestamps[0] > 0

    def test_any_changed_byte_is_noticed_or_changes_nothing(self, tmp_path):
        for path in ("version_1/model.ckpt-3", "version_2/model.ckpt-3.index"):
            content = (GOLDEN / path).read_bytes()
            (tmp_path / path).parent.mkdir()
            shutil.copytree(GOLDEN / path.split("/")[0], tmp_path / path.split("/")[0], dirs_exist_ok=True)
            expected = checkpoint_cases.many(is_version_2="2/" in path)
            for place in range(0, len(content), max(1, len(content) // 60)):
                changed = bytearray(content)
                changed[place] ^= 0xFF
                (tmp_path / path).write_bytes(changed)
                try:
                    reader = sx.train.load_checkpoint(tmp_path / path.removesuffix(".index"))
                    found = {name: reader.get_tensor(name) for name in expected}
                except (errors.DataLossError, errors.FileMissingError):
                    continue
                for name, value in expected.items():
                    np.testing.assert_array_equal(found[name], value)

    @pytest.mark.parametrize("path", ["version_1/model.ckpt-3", "version_2/model.ckpt-3.data-00000-of-00001"])
    def test_a_file_that_was_cut_off_is_an_error(self, tmp_path, path):
        shutil.copytree(GOLDEN / path.split("/")[0], tmp_path, dirs_exist_ok=True)
        name = path.split("/")[1]
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-20])
        with pytest.raises((errors.DataLossError, errors.FileMissingError), match=r"cut off|no checkpoint"):
            read_all(tmp_path / "model.ckpt-3")

    def test_a_missing_part_is_an_error(self, tmp_path):
        shutil.copy(GOLDEN / "objects" / "ckpt.index", tmp_path)
        with pytest.raises(errors.DataLossError, match="a file of it is missing or damaged"):
            sx.train.load_variable(tmp_path / "ckpt", "step/.ATTRIBUTES/VARIABLE_VALUE")
