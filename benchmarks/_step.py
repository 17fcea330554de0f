"""A step of `strategy.run` inside `stratax.function`."""

import itertools
import sys

import jax

from benchmarks import _measure, _models, _peer
from benchmarks._hand_written import HandWritten
from benchmarks._with_stratax import CustomLoop

_BATCHES = 100
_KIND = "digits"
_TENSORFLOW = """
os.environ["KERAS_BACKEND"] = "tensorflow"
import tensorflow as tf
from benchmarks import _models
data, model, optimizer = _models.make_data(sys.argv[1], 1), _models.make_model(sys.argv[1]), _models.make_optimizer()
mean, accuracy = _models.make_metrics()
optimizer.build(model.trainable_variables)
x, y = tf.constant(data.x), tf.constant(data.y)

@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        losses = _models.losses(y, logits)
        loss = tf.nn.compute_average_loss(losses, global_batch_size=_models.BATCH)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    mean.update_state(losses)
    accuracy.update_state(y, logits)
    return loss

def run():
    step(x, y)
"""
_JAX = """
import jax
from benchmarks import _models
from benchmarks._hand_written import HandWritten
data, program = _models.make_data(sys.argv[1], 1), HandWritten(sys.argv[1], 1)
batch = program.place(data.x, data.y)

def run():
    jax.block_until_ready(program.dispatch(*batch))
"""


def against_hand_written(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step, against the same in JAX by hand.

    One step per dispatch works on a batch that stays on the devices. Many steps take their batches from arrays on the
    host, in random order, on both sides: here from a `Dataset` with `next(iterator)`, there by indexing and stacking.
    """
    data = _models.make_data(kind, _BATCHES)
    ours, theirs = CustomLoop(kind, steps, data), HandWritten(kind, steps)
    resident = next(theirs.batches(data))
    passes = itertools.chain.from_iterable(theirs.batches(data) for _ in itertools.count())

    def run_ours(count: int) -> None:
        dispatch = ours.dispatch_resident if steps == 1 else ours.dispatch
        for _ in range(count):
            loss = dispatch()
        jax.block_until_ready(loss)

    def run_theirs(count: int) -> None:
        for _ in range(count):
            loss = theirs.dispatch(*(resident if steps == 1 else next(passes)))
        jax.block_until_ready(loss)

    ours_seconds, theirs_seconds = _measure.in_turns(run_ours, run_theirs, plan=plan)
    return _measure.ratio(
        [seconds / steps for seconds in ours_seconds],
        [seconds / steps for seconds in theirs_seconds],
        numerator="stratax",
        denominator="by_hand",
    )


def fused_against_single(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step, `steps` in one dispatch, against one step per dispatch; both take batches from a `Dataset`."""
    data = _models.make_data(kind, _BATCHES)
    fused, single = CustomLoop(kind, steps, data), CustomLoop(kind, 1, data)

    def run_fused(count: int) -> None:
        for _ in range(count):
            loss = fused.dispatch()
        jax.block_until_ready(loss)

    def run_single(count: int) -> None:
        for _ in range(count * steps):
            loss = single.dispatch()
        jax.block_until_ready(loss)

    ours, theirs = _measure.in_turns(run_fused, run_single, plan=plan)
    return _measure.ratio(
        [seconds / steps for seconds in ours],
        [seconds / steps for seconds in theirs],
        numerator="fused",
        denominator="single",
    )


def against_tensorflow(plan: _measure.Plan) -> _measure.Figure:
    """A step on a batch that stays on the device, against TensorFlow's."""
    with _peer.tensorflow(_TENSORFLOW, _KIND) as theirs:
        return _against_peer(theirs, "tensorflow", plan)


def against_jax_alone(plan: _measure.Plan) -> _measure.Figure:
    """A step on a batch that stays on the device, against JAX by hand where nothing imports Stratax."""
    with _peer.process(sys.executable, _JAX, _KIND) as theirs:
        return _against_peer(theirs, "jax_alone", plan)


def _against_peer(theirs: _peer.Run, name: str, plan: _measure.Plan) -> _measure.Figure:
    ours = CustomLoop(_KIND, 1, _models.make_data(_KIND, 1))

    def run_ours(count: int) -> None:
        for _ in range(count):
            loss = ours.dispatch_resident()
        jax.block_until_ready(loss)

    seconds = _measure.in_turns(run_ours, theirs, plan=plan)
    return _measure.ratio(*seconds, unit="ms", numerator="stratax", denominator=name)
