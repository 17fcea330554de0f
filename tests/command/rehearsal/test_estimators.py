"""What Estimators and TPUEstimators train, evaluate and predict with compiles for TPUs. None of it is run."""

import contextlib

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.command.rehearsal import Catcher, Enough
from tests.command.rehearsal.devices import needs_libtpu
from tests.command.rehearsal.test_strategies import SLICES, compiled
from tests.tensorflow.estimator import keras_model, v1_model
from tests.tensorflow.estimator.tpu import test_estimator as tpu

pytestmark = [needs_libtpu, pytest.mark.programs]

POD = "v4-2048"
ROWS = 16
FEATURES = {
    "x": np.zeros((ROWS, 3), "float32"),
    "kind": np.zeros((ROWS,), "int32"),
    "word": np.array(["red", "green"] * (ROWS // 2)),
}
LABELS = np.zeros((ROWS,), "int32")


def programs_of(made, **inputs):
    """An estimator's programs by mode, caught before their first dispatch: they are traced and nothing else."""
    calls = {
        "train": lambda data: made.train(data, steps=4),
        "evaluate": lambda data: made.evaluate(data, steps=1),
        "predict": lambda data: next(made.predict(data)),
    }
    found = {}
    for mode, data in inputs.items():
        catcher = Catcher(wanted=[mode])
        with catcher.catching(), contextlib.suppress(Enough):
            calls[mode](data)
        (found[mode],) = catcher.caught
    return found


def config():
    strategy = sx.distribute.MirroredStrategy()
    return tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)


def premade(kind, folder):
    columns = tf.feature_column
    x, number = columns.numeric_column("x", shape=(3,)), columns.categorical_column_with_identity("kind", 4)
    word = columns.categorical_column_with_vocabulary_list("word", ["red", "green"])
    if kind == "linear":
        crossed = columns.crossed_column(["word", number], 8)
        return tf.estimator.LinearClassifier([x, word, crossed], folder, config=config())
    if kind == "baseline":
        return tf.estimator.BaselineRegressor(folder, config=config())
    deep = [x, columns.embedding_column(number, 2), columns.indicator_column(word)]
    return tf.estimator.DNNClassifier([4], deep, folder, config=config())


def of_premade(kind, folder):
    def data():
        # Of each replica.
        return sx.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(2)

    return programs_of(premade(kind, str(folder)), train=data, evaluate=data, predict=data)


def of_a_model_fn(folder):
    made = tf.estimator.Estimator(v1_model.model_fn, str(folder), config())

    def data():
        features = {"x": v1_model.FEATURES, "weights": v1_model.WEIGHTS}
        return sx.Dataset.from_tensor_slices((features, v1_model.LABELS)).batch(2)

    return programs_of(made, train=data, evaluate=data)


def of_a_keras_model(folder):
    made = tf.keras.estimator.model_to_estimator(keras_model.built(), model_dir=str(folder), config=config())

    def data():
        return sx.Dataset.from_tensor_slices((keras_model.FEATURES, keras_model.LABELS)).batch(4)

    return programs_of(made, train=data, evaluate=data, predict=data)


def of_tpu_cores(folder):
    made = tpu.estimator(folder)
    evaluation = tpu.evaluation
    return programs_of(made, train=tpu.input_fn, evaluate=evaluation, predict=evaluation)


def check(programs, name):
    """All of them compile for a slice, with no more collectives than are needed."""
    for mode, made in programs.items():
        report = compiled(made, name)
        assert report.num_devices == report.topology.num_devices
        assert {each.kind for each in report.collectives} <= {"all-reduce"}
        assert {each.group for each in report.collectives} <= {report.num_devices}
        # Gradients, losses, and what belongs to neither; the sums of metrics; nothing.
        at_most = {"train": 4, "evaluate": 2, "predict": 0}[mode]
        assert min(1, at_most) <= len(report.collectives) <= at_most, mode


def test_they_compile_for_each_slice(tmp_path):
    found = of_a_model_fn(tmp_path)
    for name in SLICES:
        check(found, name)
    check({"train": found["train"]}, POD)


def test_those_of_cores_compile(tmp_path):
    # Their training compiles for each slice in tests/command/rehearsal/test_strategies.py, other modes above.
    check(of_tpu_cores(tmp_path), SLICES[0])


@pytest.mark.parametrize(("kind", "name"), [("dnn", "v3-8"), ("linear", "v4-8"), ("baseline", "v5e-8")])
def test_premade_ones_compile(kind, name, tmp_path):
    check(of_premade(kind, tmp_path), name)


def test_a_keras_models_compile(tmp_path):
    check(of_a_keras_model(tmp_path), "v5e-8")
