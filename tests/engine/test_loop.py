"""The loop of steps, driven without Keras' fit: exact ends, hooks, stops, resumption, on every strategy."""

import os

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import engine, errors
from stratax.distribute import CentralStorageStrategy, OneDeviceStrategy, TPUStrategy, get_strategy
from tests.engine.conftest import BATCH, Training, X, Y, expected_weights, mirrored

STRATEGIES = {
    "default": get_strategy,
    "one": lambda: OneDeviceStrategy("/cpu:3"),
    "mirrored2": lambda: mirrored(2),
    "mirrored4": lambda: mirrored(4),
    "central": lambda: CentralStorageStrategy([f"/cpu:{i}" for i in range(4)], "/cpu:7"),
}
if os.environ["STRATAX_SIMULATE"].startswith("tpu"):
    STRATEGIES = {"tpu": TPUStrategy}


class Recorder(engine.Hook):
    """Writes down what it is called for."""

    def __init__(self):
        self.calls = []
        self.losses = []

    def begin(self, loop):
        self.calls.append(("begin", loop.step))

    def before_dispatch(self, loop, steps):
        self.calls.append(("before", loop.step, steps))

    def after_dispatch(self, loop, steps, outputs):
        self.calls.append(("after", loop.step, steps))
        self.losses.extend(np.asarray(outputs).tolist())

    def end_of_pass(self, loop):
        self.calls.append(("end of pass", loop.step, loop.passes))

    def on_stop(self, loop):
        self.calls.append(("on_stop", loop.step))

    def on_error(self, loop, error):
        self.calls.append(("on_error", str(error)))

    def end(self, loop):
        self.calls.append(("end", loop.step))


def dispatches(recorder):
    return [call[2] for call in recorder.calls if call[0] == "after"]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_trains_exactly_as_many_steps_and_goes_on_where_it_was(name):
    recorder = Recorder()
    every = []
    training = Training(STRATEGIES[name]())
    hooks = [recorder, engine.EverySteps(4, lambda loop, losses: every.append(loop.step))]
    loop = training.loop(steps_per_dispatch=3, hooks=hooks)
    with training.input:
        # Two passes of 5 whole batches and a remainder, and one step of a third.
        last = loop.run(training.input, until=13, passes=None)
    assert (loop.step, loop.passes, loop.was_stopped) == (13, 2, False)
    assert np.asarray(last).shape == (1,)
    training.check(13)
    # A remainder that divides can be a part of no block of whole batches either.
    assert dispatches(recorder) == [3, 2, 1, 3, 2, 1, 1]
    assert every == [5, 9, 12]
    losses = [float(np.mean((X[s] @ expected_weights(n) - Y[s]) ** 2)) for n, s in enumerate(slices(13))]
    np.testing.assert_allclose(recorder.losses, losses, rtol=2e-4, atol=1e-7)
    resumed = Training(STRATEGIES[name]())
    again = resumed.loop(steps_per_dispatch=3)
    again.set_state(loop.get_state())
    resumed.weights.assign(training.weights.numpy())
    with resumed.input:
        again.run(resumed.input, until=20, passes=None)
    assert (again.step, again.passes) == (20, 3)
    resumed.check(20)


def slices(steps):
    starts = [*range(0, len(X), BATCH)]
    return [slice(starts[n % len(starts)], starts[n % len(starts)] + BATCH) for n in range(steps)]


def test_a_hook_stops_the_loop(training):
    class Stop(Recorder):
        def after_dispatch(self, loop, steps, outputs):
            super().after_dispatch(loop, steps, outputs)
            if loop.step >= 4:
                loop.request_stop()

    recorder = Stop()
    loop = training.loop(steps_per_dispatch=2, hooks=[recorder])
    loop.run(training.input, until=100, passes=None)
    assert (loop.step, loop.was_stopped) == (4, True)
    assert recorder.calls[-2:] == [("on_stop", 4), ("end", 4)]
    # The wish is the run's: the next one goes on, in the pass that was left.
    loop = training.loop()
    loop.request_stop()
    training.check(4)


def test_a_hook_stops_the_loop_before_its_first_step_and_at_the_end_of_a_pass(training):
    class Stop(engine.Hook):
        def begin(self, loop):
            if at == "begin":
                loop.request_stop()

        def end_of_pass(self, loop):
            loop.request_stop()

    loop = training.loop(hooks=[Stop()])
    for at, step in (("begin", 0), ("end of pass", 6)):
        assert (loop.run(training.input, passes=5) is None) == (at == "begin")
        assert (loop.step, loop.was_stopped) == (step, True)


def test_a_second_run_goes_on_in_the_pass_that_the_first_one_left(training):
    loop = training.loop(steps_per_dispatch=4)
    loop.run(training.input, until=3)
    loop.run(training.input, until=3)
    assert (loop.step, loop.passes) == (3, 0)
    loop.run(training.input)
    assert (loop.step, loop.passes) == (6, 1)
    training.check(6)


def test_a_checkpoint_in_a_hook_holds_the_step_and_the_position(tmp_path):
    def shuffled():
        return Training(
            mirrored(2), sx.data.Dataset.from_tensor_slices((X, Y)).shuffle(42, seed=3).batch(BATCH).repeat()
        )

    undisturbed = shuffled()
    with undisturbed.input:
        undisturbed.loop().run(undisturbed.input, until=17)
    first = shuffled()
    checkpoints = []

    def save(loop, outputs):
        checkpoints.append(sx.train.Checkpoint(weights=first.weights, loop=loop).save(tmp_path / "c"))

    with first.input:
        first.loop(steps_per_dispatch=4, hooks=[engine.EverySteps(8, save)]).run(first.input, until=11)
    assert len(checkpoints) == 1
    second = shuffled()
    loop = second.loop(steps_per_dispatch=4)
    sx.train.Checkpoint(weights=second.weights, loop=loop).restore(checkpoints[0])
    # The first dispatch that passed 8 steps: 4, 1, the remainder, 4.
    assert loop.step == loop.get_state()["step"] == 10
    with second.input:
        loop.run(second.input, until=17)
    np.testing.assert_allclose(second.weights.numpy(), undisturbed.weights.numpy(), rtol=1e-6)


def test_a_state_at_the_end_of_a_pass_begins_the_next_one(training):
    states = []

    class Save(engine.Hook):
        def end_of_pass(self, loop):
            states.append(loop.get_state())

    training.loop(hooks=[Save()]).run(training.input)
    other = Training(mirrored(2))
    other.weights.assign(training.weights.numpy())
    loop = other.loop()
    loop.set_state(states[0])
    with other.input:
        loop.run(other.input, passes=2)
    assert (loop.step, loop.passes) == (12, 2)
    other.check(12)


def test_keras_callbacks_hang_on_the_loop(training):
    class Callbacks(engine.Hook):
        def __init__(self, callbacks):
            self.callbacks = callbacks

        def before_dispatch(self, loop, steps):
            self.callbacks.on_train_batch_begin(loop.step, {})

        def after_dispatch(self, loop, steps, outputs):
            self.callbacks.on_train_batch_end(loop.step - 1, {"loss": outputs[-1]})

    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(batch),
        on_train_batch_end=lambda batch, logs: seen.append(batch),
    )
    training.loop(steps_per_dispatch=5, hooks=[Callbacks(callback)]).run(training.input)
    assert seen == [0, 4, 5, 5]


def test_a_loop_and_its_hooks_say_what_they_can_not_do(training):
    with pytest.raises(errors.BadArgumentError, match="steps_per_dispatch must be at least 1"):
        training.loop(steps_per_dispatch=0)
    with pytest.raises(errors.BadArgumentError, match="steps must be at least 1"):
        engine.EverySteps(0, print)
    with pytest.raises(errors.DataError, match="has the version 1"):
        training.loop().set_state({"step": 3})
    empty = Training(mirrored(2), sx.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH).take(0))
    with empty.input, pytest.raises(errors.DataError, match="has no batches"):
        empty.loop().run(empty.input, passes=None)
    other = mirrored(4).experimental_distribute_dataset(
        sx.data.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
    )
    with pytest.raises(errors.StrategyError, match="Distribute it with the model's strategy"):
        engine.StepInput.of_dataset(mirrored(2), other)
