"""Checkpoints in TensorFlow's files are read as they were written, and appear whole."""

import numpy as np
import pytest

from stratax.tensorflow.checkpoints.writing import remove_bundle, write_bundle, write_state
from stratax.train import latest_checkpoint, load_checkpoint


def test_arrays_of_all_kinds_come_back(tmp_path):
    arrays = {f"layer_{index}/w": np.full((index, 2), index, np.float32) for index in range(40)}
    arrays |= {
        "step": np.int64(7),
        "flag": np.bool_(True),
        "half": np.ones(3, np.float16),
        "b": np.zeros((0, 4), np.int32),
    }
    write_bundle(tmp_path / "model-7", arrays)
    write_state(tmp_path, [str(tmp_path / "model-7")])
    reader = load_checkpoint(latest_checkpoint(tmp_path))
    assert sorted(reader.get_variable_to_shape_map()) == sorted(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(reader.get_tensor(name), array)
    remove_bundle(tmp_path / "model-7")
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    with pytest.raises(KeyError):
        write_bundle(tmp_path / "model", {"w": np.zeros(2, "V3")})
    assert not list(tmp_path.iterdir())
