"""Checkpoints of Stratax are found by the names of TensorFlow's files."""

import os

import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors


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


PARTS = ("meta", "data-00000-of-00001", "index")


def value_of(path):
    return tf.train.load_checkpoint(str(path)).get_tensor("step/.ATTRIBUTES/VARIABLE_VALUE")


def test_a_checkpoint_is_copied_renamed_and_removed_by_its_files(tmp_path):
    step = sx.Variable(3, name="step")
    checkpoint = sx.train.Checkpoint(step=step)
    path, best = checkpoint.save(tmp_path / "model.ckpt"), str(tmp_path / "model.ckpt-best")
    for part in PARTS:
        tf.gfile.Copy(f"{path}.{part}", f"{best}.{part}")
    assert tf.io.gfile.exists(f"{best}.index")
    assert value_of(best) == value_of(path) == 3
    step.assign(4)
    path = checkpoint.save(tmp_path / "model.ckpt")
    with pytest.raises(errors.AlreadyExistsError, match="There is a checkpoint already"):
        tf.io.gfile.copy(f"{path}.index", f"{best}.index")
    for part in PARTS:
        tf.io.gfile.copy(f"{path}.{part}", f"{best}.{part}", overwrite=True)
    assert value_of(best) == 4
    for part in PARTS:
        tf.io.gfile.rename(f"{best}.{part}", f"{tmp_path}/last-1.{part}")
    assert not tf.io.gfile.exists(f"{best}.index")
    assert value_of(tmp_path / "last-1") == 4
    for part in PARTS:
        tf.gfile.Remove(f"{tmp_path}/last-1.{part}")
    assert not (tmp_path / "last-1").exists()
    with pytest.raises(errors.FileMissingError):
        tf.gfile.Remove(f"{best}.meta")


def test_other_files_of_such_names_are_files(tmp_path):
    file = tmp_path / "a-1.index"
    file.write_text("text")
    tf.io.gfile.copy(str(file), f"{tmp_path}/b-1.index")
    tf.gfile.Rename(f"{tmp_path}/b-1.index", f"{tmp_path}/c-1.index")
    assert (tmp_path / "c-1.index").read_text() == "text"
    tf.gfile.Remove(str(file))
    assert not file.exists()
