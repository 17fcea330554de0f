"""Programs are caught as they are dispatched, with the types of their arguments and whose values these are."""

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import compiling
from stratax.rehearsal import Catcher, _catching
from tests.rehearsal.devices import DEVICES


@pytest.fixture
def catcher():
    made = Catcher()
    with made.catching():
        yield made


def names(catcher):
    return [each.name for each in catcher.caught]


def small_model(strategy):
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
        model.compile("adam", "mse", steps_per_execution=2)
    return model


def test_fit_evaluate_and_predict_are_caught_once_for_each_shape(catcher):
    model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
    x, y = np.zeros((16, 4), "float32"), np.zeros((16, 2), "float32")
    model.fit(x, y, batch_size=4, verbose=0, epochs=2)
    model.evaluate(x, y, batch_size=16, verbose=0)
    model.predict(x, batch_size=16, verbose=0)
    assert names(catcher) == ["train_function", "test_function", "predict_function"]
    assert catcher.num_dispatches["train_function"] == 4


def test_variables_are_known_and_batches_keep_their_shardings(catcher):
    model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
    model.fit(np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32"), batch_size=4, verbose=0)
    (made,) = catcher.caught
    donated = {variable.path for variable in made.variables[0]}
    assert {weight.path for weight in model.trainable_variables} <= donated
    batches = jax.tree.leaves(made.arguments[2])
    # Steps, devices, examples.
    assert [spec.shape for spec in batches] == [(2, 2, 2, 4), (2, 2, 2, 2)]
    assert all("replica" in spec.sharding.spec for spec in batches)


def test_a_step_is_traced_anew_for_more_devices(catcher):
    model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
    model.fit(np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32"), batch_size=4, verbose=0)
    (made,) = catcher.caught
    moved = made.traced_for(jax.devices()[:4])
    assert [spec.shape for spec in jax.tree.leaves(moved.arguments[2])] == [(2, 4, 2, 4), (2, 4, 2, 2)]
    text = moved.compiled.lower(*moved.arguments).compile().as_text()
    assert "replica_groups={{0,1,2,3}}" in text or "replica_groups=[1,4]<=[4]" in text
    # The strategy is as it was.
    before = [np.asarray(weight) for weight in model.trainable_variables]
    model.fit(np.ones((8, 4), "float32"), np.ones((8, 2), "float32"), batch_size=4, verbose=0)
    assert any((np.asarray(w) != b).any() for w, b in zip(model.trainable_variables, before, strict=True))


def test_custom_loops_are_caught(catcher):
    strategy = sx.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        total = sx.Variable(0.0)

    @sx.function
    def step(batch):
        return strategy.run(lambda x: total.assign_add(x.sum()), (batch,))

    dataset = strategy.experimental_distribute_dataset(
        sx.Dataset.from_tensor_slices(np.ones((8, 3), "float32")).batch(4)
    )
    for batch in dataset:
        step(batch)
    assert names(catcher) == ["step"]
    assert catcher.caught[0].traced_for is not None


def test_loops_that_the_host_drives_are_caught_as_windows(catcher):
    strategy = sx.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        total = sx.Variable(0.0)

    @sx.function
    def epoch(batches):
        for batch in batches:
            strategy.run(lambda x: total.assign_add(x.sum()), (batch,))

    epoch(
        strategy.experimental_distribute_dataset(
            sx.Dataset.from_tensor_slices(np.ones((8, 3), "float32")).batch(4)
        )
    )
    assert [each.is_window for each in catcher.caught].count(True) == 1
    window = next(each for each in catcher.caught if each.is_window)
    assert window.traced_for is None
    assert [each is total for each in window.variables[0]] == [True]


def test_nothing_is_caught_outside_of_the_block():
    with Catcher().catching():
        assert compiling.is_heard()
    assert not compiling.is_heard()

    @sx.function
    def double(x):
        return x * 2

    assert float(double(np.float32(2))) == 4.0


def test_the_program_ends_when_all_that_is_wanted_is_caught():
    catcher = Catcher(wanted=["test_function"])
    x, y = np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32")
    with catcher.catching():
        model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
        model.fit(x, y, batch_size=4, verbose=0)
        with pytest.raises(_catching.Enough):
            model.evaluate(x, y, batch_size=4, verbose=0)
    assert names(catcher) == ["test_function"]


def test_the_program_ends_after_so_many_dispatches():
    catcher = Catcher(limit=3)
    with catcher.catching():
        double = sx.function(lambda x: x * 2)
        for _ in range(3):
            double(np.float32(1))
        with pytest.raises(_catching.Enough):
            double(np.float32(1))
    assert catcher.num_dispatches.total() == 3
