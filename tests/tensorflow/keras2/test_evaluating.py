"""SidecarEvaluator evaluates what another program has written, of every kind, and ends where it should."""

import shutil
import threading
import time

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

X = np.ones((8, 2), "float32")
Y = np.zeros((8, 1), "float32")


def model_of(value=0.0):
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(1, kernel_initializer=keras.initializers.Constant(value))]
    )
    model.compile("sgd", "mse")
    return model


class Seen(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_test_end(self, logs=None):
        self.losses.append(float(logs["loss"]))


def evaluated(folder, **kwargs):
    seen = Seen()
    evaluator = tf.keras.utils.SidecarEvaluator(model_of(), (X, Y), str(folder), callbacks=[seen], **kwargs)
    evaluator.data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    evaluator.start()
    return seen.losses


@pytest.mark.parametrize("has_optimizer", [False, True])
def test_checkpoints_of_a_model_are_evaluated_up_to_the_last(tmp_path, has_optimizer):
    trained = model_of(3.0)
    parts = {"optimizer": trained.optimizer} if has_optimizer else {}
    checkpoint = tf.train.Checkpoint(model=trained, **parts)
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path), max_to_keep=2)
    manager.save()
    manager.save()
    assert evaluated(tmp_path, max_evaluations=2) == [36.0]


def test_a_checkpoint_that_is_the_model_itself_is_one_too(tmp_path):
    tf.train.Checkpoint(model_of(2.0)).save(str(tmp_path / "ckpt"))
    assert evaluated(tmp_path, max_evaluations=1) == [16.0]


@pytest.mark.parametrize("ending", [".weights.h5", ".keras"])
def test_files_of_keras_are_evaluated(tmp_path, ending):
    model = model_of(1.0)
    (model.save if ending == ".keras" else model.save_weights)(tmp_path / f"epoch1{ending}")
    assert evaluated(tmp_path, max_evaluations=1) == [4.0]


def test_each_new_checkpoint_is_waited_for(tmp_path):
    folder = tmp_path / "later"

    def write():
        for value in (1.0, 2.0):
            time.sleep(0.3)
            tf.train.CheckpointManager(
                tf.train.Checkpoint(model=model_of(value)), str(folder), max_to_keep=1
            ).save(checkpoint_number=int(value))
            time.sleep(1.5)

    writer = threading.Thread(target=write)
    writer.start()
    losses = evaluated(folder, max_evaluations=2)
    writer.join()
    assert losses == [4.0, 16.0]


def test_a_damaged_checkpoint_is_passed_over(tmp_path, caplog):
    (tmp_path / "a.weights.h5").write_bytes(b"no file of weights")

    def mend():
        time.sleep(2.5)
        model_of(1.0).save_weights(tmp_path / "b.weights.h5")

    writer = threading.Thread(target=mend)
    writer.start()
    assert evaluated(tmp_path, max_evaluations=1) == [4.0]
    writer.join()
    assert "could not be read" in caplog.text
    shutil.rmtree(tmp_path)


def test_a_file_that_is_being_written_is_waited_for(tmp_path):
    path = tmp_path / "a.weights.h5"
    model_of(1.0).save_weights(path)
    model_of(3.0).save_weights(tmp_path / "other.h5.part.weights.h5")
    whole = (tmp_path / "other.h5.part.weights.h5").rename(tmp_path / "part").read_bytes()

    def write():
        with open(path, "wb") as file:
            for start in range(0, len(whole), 4096):
                file.write(whole[start : start + 4096])
                file.flush()
                time.sleep(0.3)

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(0.1)
    assert evaluated(tmp_path, max_evaluations=1) == [36.0]
    writer.join()


def test_weights_of_another_model_are_an_error(tmp_path):
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    other.save_weights(tmp_path / "a.weights.h5")
    with pytest.raises(ValueError, match="could not be loaded|expected"):
        evaluated(tmp_path, max_evaluations=1)


def test_wrong_arguments_are_refused():
    with pytest.raises(errors.BadTypeError, match="expects a Keras model"):
        tf.keras.experimental.SidecarEvaluator(None, None, "folder")
    with pytest.raises(errors.BadArgumentError, match="max_evaluations"):
        tf.keras.utils.SidecarEvaluator(model_of(), None, "folder", max_evaluations=0)
