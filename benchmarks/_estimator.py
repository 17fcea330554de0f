"""Estimators against JAX by hand, TensorFlow 2.15's and Keras, and with hooks against without."""

import itertools
import tempfile
from typing import Any

import jax
import keras

import stratax as sx
import stratax.tf as tf
from benchmarks import _estimator_programs, _measure, _models, _peer
from benchmarks._hand_written import HandWritten
from stratax.tensorflow import estimator as est

_BATCHES = 100
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

_TENSORFLOW_CLASSIFIER = """
import tempfile
import tensorflow as tf
from benchmarks import _estimator_programs
program = _estimator_programs.Classifier(tf, tempfile.mkdtemp())
program.begin()

def run():
    program.hook.make(1)
"""


def against_hand_written(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step of `TPUEstimator.train`, `steps` in one program, against the same in JAX by hand; input counts."""
    data = _models.make_data(kind, _BATCHES)
    # An Estimator that trains counts no metrics.
    theirs = HandWritten(kind, steps, counts=False)
    passes = itertools.chain.from_iterable(theirs.batches(data) for _ in itertools.count())

    def run_theirs(count: int) -> None:
        for _ in range(count):
            loss = theirs.dispatch(*next(passes))
        jax.block_until_ready(loss)

    ours_seconds, theirs_seconds = _trained_in_turns(kind, steps, run_theirs, plan)
    return _measure.ratio(
        [seconds / steps for seconds in ours_seconds],
        [seconds / steps for seconds in theirs_seconds],
        numerator="stratax",
        denominator="by_hand",
    )


def against_tensorflow(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast a step of `TPUEstimator.train` is as TensorFlow's, `steps` in one program here."""
    with _peer.estimator(_TENSORFLOW, kind, str(steps)) as theirs:
        ours_seconds, theirs_seconds = _trained_in_turns(kind, steps, theirs, plan)
    return _measure.ratio(
        [seconds / steps for seconds in theirs_seconds],
        [seconds / steps for seconds in ours_seconds],
        numerator="tensorflow",
        denominator="stratax",
    )


def classifying(plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast a step of a DNNClassifier of 20 mixed columns is as TensorFlow's."""
    with tempfile.TemporaryDirectory() as folder, _peer.estimator(_TENSORFLOW_CLASSIFIER) as theirs:
        program = _estimator_programs.Classifier(tf, folder)
        program.begin()
        try:
            ours_seconds, theirs_seconds = _measure.in_turns(program.hook.make, theirs, plan=plan)
        finally:
            program.hook.stop()
    return _measure.ratio(theirs_seconds, ours_seconds, numerator="tensorflow", denominator="stratax")


def starting(plan: _measure.Plan) -> _measure.Figure:
    """`Estimator.train` of one step from a checkpoint to the next, against TensorFlow's."""
    with tempfile.TemporaryDirectory() as folder, _peer.estimator(_TENSORFLOW, "mlp", "0") as theirs:
        program = _program("mlp", folder)
        program.train_one()

        def ours(count: int) -> None:
            for _ in range(count):
                program.train_one()

        return _measure.ratio(*_measure.in_turns(ours, theirs, plan=plan), unit="ms")


def with_hooks(plan: _measure.Plan) -> _measure.Figure:
    """A step with three hooks that ask for nothing in it, against one without hooks."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        without, hooked = _program("mlp", first), _program("mlp", second)
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
    """A batch of `Estimator.evaluate` or `predict`, against one of Keras' method."""
    dataset = sx.data.Dataset.from_tensor_slices(_estimator_programs.data("mlp", _BATCHES))
    dataset = dataset.batch(_models.BATCH)
    model = _models.make_model("mlp")
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["sparse_categorical_accuracy"],
    )

    def theirs(count: int) -> None:
        for _ in range(count):
            getattr(model, method)(dataset, verbose=0)

    with tempfile.TemporaryDirectory() as folder:
        program = _program("mlp", folder)
        program.train_one()
        ours = {"evaluate": _Evaluation, "predict": _Prediction}[method](program, dataset.repeat())
        try:
            ours_seconds, theirs_seconds = _measure.in_turns(
                lambda count: ours.make(count * _BATCHES), theirs, plan=plan
            )
        finally:
            ours.stop()
    return _measure.ratio(
        [seconds / _BATCHES for seconds in ours_seconds],
        [seconds / _BATCHES for seconds in theirs_seconds],
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
        for _ in range(batches * _models.BATCH):
            next(self._predictions)

    def stop(self) -> None:
        """End the predictions."""
        self._predictions.close()


def _trained_in_turns(
    kind: str, steps: int, theirs: _measure.Run, plan: _measure.Plan
) -> tuple[list[float], list[float]]:
    """Seconds per dispatch of a TPUEstimator, and per piece of the other side's work."""
    with tempfile.TemporaryDirectory() as folder:
        program = _program(kind, folder, steps=steps, use_tpu=True, batches=_BATCHES)
        program.begin()
        try:
            return _measure.in_turns(program.hook.make, theirs, plan=plan)
        finally:
            program.hook.stop()


def _program(kind: str, folder: str, **options: Any) -> _estimator_programs.Program:
    strategy = tf.distribute.MirroredStrategy() if jax.device_count() > 1 else None
    # Of all devices, as theirs are waited for: only one side's programs run at a time.
    return _estimator_programs.Program(
        tf,
        kind,
        folder,
        strategy=strategy,
        wait=lambda variable: jax.block_until_ready(variable.value),
        **options,
    )
