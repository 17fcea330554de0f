"""Checkpoints of Stratax are found by the names of TensorFlow's files."""

import os

import stratax as sx
import stratax.tf as tf


def test_checkpoints_are_found_by_their_indices(tmp_path):
    step = sx.Variable(3, name="step")
    path = sx.train.Checkpoint(step=step).save(tmp_path / "model.ckpt")
    (tmp_path / "data-7").mkdir()
    (tmp_path / "data-8").write_text("")
    name = os.path.basename(path)
    assert name == "model.ckpt-1"
    listed = tf.io.gfile.listdir(tmp_path)
    assert listed == tf.gfile.ListDirectory(str(tmp_path)) == sorted(listed)
    assert [each for each in listed if each.endswith(".index")] == [f"{name}.index"]
    assert {"data-7", "data-8", name} <= set(listed)
    assert tf.io.gfile.exists(f"{path}.index")
    assert tf.gfile.Exists(f"{path}.index".encode())
    assert not tf.io.gfile.exists(tmp_path / "data-7.index")
    assert not tf.io.gfile.exists(tmp_path / "model.ckpt-2.index")
    assert tf.io.gfile.glob(str(tmp_path / "model.ckpt-*.index")) == [f"{path}.index"]
    assert tf.gfile.Glob([str(tmp_path / "*.index"), str(tmp_path / "data-8")]) == [
        str(tmp_path / "data-8"),
        f"{path}.index",
    ]
    assert (
        tf.train.load_checkpoint(f"{path}.index".removesuffix(".index")).get_tensor(
            "step/.ATTRIBUTES/VARIABLE_VALUE"
        )
        == 3
    )
