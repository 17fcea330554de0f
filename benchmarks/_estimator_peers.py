"""Estimators against TensorFlow 2.15's, against Keras, and with hooks against without."""

import tempfile
from typing import Any

import keras
import numpy as np

import stratax as sx
import stratax.tf as tf
from benchmarks import _estimator_programs, _measure, _models, _peer
from stratax import estimator as est

_TENSORFLOW = """
import tempfile
import tensorflow as tf
from benchmarks import _estimator_programs
kind, steps = sys.argv[1], int(sys.argv[2])
program = _estimator_programs.Program(tf, kind, tempfile.mkdtemp(), steps=steps or None)
if steps:
    program.begin()
else:
    program.train_one()

def run():
    if steps:
        program.hook.make(steps)
    else:
        program.train_one()
"""


def against_tensorflow(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast a step of `TPUEstimator.train` is as TensorFlow's, `steps` in one program here."""
    with tempfile.TemporaryDirectory() as folder, _peer.estimator(_TENSORFLOW, kind, str(steps)) as theirs:
        program = _estimator_programs.Program(tf, kind, folder, steps=steps, use_tpu=True)
        program.begin()
        try:
            ours_seconds, theirs_seconds = _measure.in_turns(program.hook.make, theirs, plan=plan)
        finally:
            program.hook.stop()
    return _measure.ratio(
        [seconds / steps for seconds in theirs_seconds],
        [seconds / steps for seconds in ours_seconds],
        numerator="tensorflow",
        denominator="stratax",
    )


def starting(plan: _measure.Plan) -> _measure.Figure:
    """`Estimator.train` of one step from a checkpoint to the next, against TensorFlow's."""
    with tempfile.TemporaryDirectory() as folder, _peer.estimator(_TENSORFLOW, "mlp", "0") as theirs:
        program = _estimator_programs.Program(tf, "mlp", folder)
        program.train_one()

        def ours(count: int) -> None:
            for _ in range(count):
                program.train_one()

        return _measure.ratio(*_measure.in_turns(ours, theirs, plan=plan), unit="ms")


def with_hooks(plan: _measure.Plan) -> _measure.Figure:
    """A step with three hooks that ask for nothing in it, against one without hooks."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        without = _estimator_programs.Program(tf, "mlp", first)
        hooked = _estimator_programs.Program(tf, "mlp", second)
        without.begin()
        hooked.begin(
            est.LoggingTensorHook(["global_step"], every_n_iter=10**7),
            est.StepCounterHook(every_n_steps=10**7, output_dir=second),
            est.CheckpointSaverHook(second, save_steps=10**7),
        )
        try:
            ours_seconds, theirs_seconds = _measure.in_turns(hooked.hook.make, without.hook.make, plan=plan)
        finally:
            without.hook.stop()
            hooked.hook.stop()
    return _measure.ratio(ours_seconds, theirs_seconds, numerator="with", denominator="without")


def against_keras(method: str, plan: _measure.Plan) -> _measure.Figure:
    """A batch of `Estimator.evaluate` or `predict`, against one of Keras' method under the same strategy."""
    batches = 100
    x, y = _estimator_programs.data("mlp", batches)
    model = _models.make_model("mlp")
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["sparse_categorical_accuracy"],
    )
    with tempfile.TemporaryDirectory() as folder:
        program = _estimator_programs.Program(tf, "mlp", folder)
        program.train_one()
        dataset = sx.data.Dataset.from_tensor_slices((x, y)).batch(_models.BATCH)
        passes = {"evaluate": _Evaluation, "predict": _Prediction}[method](program, dataset.repeat())

        def theirs(count: int) -> None:
            for _ in range(count):
                if method == "evaluate":
                    model.evaluate(dataset, verbose=0)
                else:
                    model.predict(dataset, verbose=0)

        try:
            ours_seconds, theirs_seconds = _measure.in_turns(
                lambda count: passes.make(count * batches), theirs, plan=plan
            )
        finally:
            passes.stop()
    return _measure.ratio(
        [seconds / batches for seconds in ours_seconds],
        [seconds / batches for seconds in theirs_seconds],
        numerator="stratax",
        denominator="keras",
    )


class _Evaluation:
    """An evaluation without end, by turns."""

    def __init__(self, program: _estimator_programs.Program, dataset: Any) -> None:
        self._hook = program.hook
        self._hook.start(lambda: program.estimator.evaluate(lambda: dataset, hooks=[self._hook]))

    def make(self, batches: int) -> None:
        """Evaluate so many batches."""
        self._hook.make(batches)

    def stop(self) -> None:
        """End the evaluation."""
        self._hook.stop()


class _Prediction:
    """Predictions without end, by turns."""

    def __init__(self, program: _estimator_programs.Program, dataset: Any) -> None:
        self._predictions = program.estimator.predict(lambda: dataset)

    def make(self, batches: int) -> None:
        """Predict so many batches, an example at a time."""
        found = [next(self._predictions) for _ in range(batches * _models.BATCH)]
        assert isinstance(found[-1], np.ndarray)

    def stop(self) -> None:
        """End the predictions."""
        self._predictions.close()
