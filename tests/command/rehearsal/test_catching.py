"""Programs are caught as they are dispatched, with the types of their arguments and whose values these are."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.command.rehearsal import Catcher, _catching, collectives_of
from stratax.core import regions
from tests.command.rehearsal.devices import DEVICES

v1 = tf.compat.v1


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
    assert all("replica" in str(spec.sharding.spec) for spec in batches)


def test_a_step_is_traced_anew_for_more_devices(catcher):
    model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
    model.fit(np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32"), batch_size=4, verbose=0)
    (made,) = catcher.caught
    moved = made.traced_for(jax.devices()[:4], None)
    assert [spec.shape for spec in jax.tree.leaves(moved.arguments[2])] == [(2, 4, 2, 4), (2, 4, 2, 2)]
    text = moved.compiled.lower(*moved.arguments).compile().as_text()
    # As versions of XLA write it.
    of_four = ("{{0,1,2,3}}", "[1,4]<=[4]", "mesh['replica'=4,'shard'=1,'model'=1]")
    assert any(f"replica_groups={groups}" in text for groups in of_four)
    # The strategy is as it was.
    before = [np.asarray(weight) for weight in model.trainable_variables]
    model.fit(np.ones((8, 4), "float32"), np.ones((8, 2), "float32"), batch_size=4, verbose=0)
    assert any((np.asarray(w) != b).any() for w, b in zip(model.trainable_variables, before, strict=True))


def test_a_step_is_traced_anew_for_another_batch(catcher):
    model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
    model.fit(np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32"), batch_size=4, verbose=0)
    (made,) = catcher.caught
    moved = made.traced_for(jax.devices()[:4], 3)
    assert [spec.shape for spec in jax.tree.leaves(moved.arguments[2])] == [(2, 4, 3, 4), (2, 4, 3, 2)]
    # Variables are as large as before.
    assert [spec.shape for spec in moved.arguments[0]] == [spec.shape for spec in made.arguments[0]]
    assert moved.compiled.lower(*moved.arguments).compile() is not None


def test_a_program_without_a_batch_has_none_of_another_size(catcher):
    strategy = sx.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        total = sx.Variable(0.0)
    sx.function(lambda: strategy.run(lambda: total.assign_add(1.0)))()
    (made,) = catcher.caught
    with pytest.raises(sx.errors.BadArgumentError, match="None of the program's arguments is divided"):
        made.traced_for(jax.devices()[:4], 3)


def test_what_takes_elements_by_itself_is_traced_anew_with_parts_for_each_device(catcher):
    strategy = sx.distribute.MirroredStrategy(DEVICES[:2])
    with strategy.scope():
        total = sx.Variable(np.zeros((3,), "float32"))

    @sx.function
    def steps(iterator, count):
        for _ in sx.range(count):
            strategy.run(lambda x: total.assign_add(x.sum(0)), (next(iterator),))

    @sx.function
    def step(iterator):
        strategy.run(lambda x: total.assign_add(x.sum(0)), (next(iterator),))

    dataset = sx.Dataset.from_tensor_slices(np.ones((11, 3), "float32")).batch(4)
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    steps(iterator, 2)
    step(iterator)
    block, remainder = (made.traced_for(jax.devices()[:4], None) for made in catcher.caught)
    # Steps, devices, examples; the last three examples do not divide, and are everybody's.
    assert [spec.shape for spec in block.arguments[1]] == [(2, 4, 2, 3)]
    assert [spec.shape for spec in remainder.arguments[1]] == [(3, 3)]
    (found,) = collectives_of(block.compiled.lower(*block.arguments).compile().as_text())
    assert (found.kind, found.group) == ("all-reduce", 4)
    (other,) = catcher.caught[0].traced_for(jax.devices()[:4], 5).arguments[1]
    assert other.shape == (2, 4, 5, 3)
    # The strategy and the iterator are as they were: means of the replicas were added.
    np.testing.assert_array_equal(total.numpy(), [7, 7, 7])
    with pytest.raises(sx.errors.OutOfRangeError):
        step(iterator)


SIZE = 2


def test_names_that_were_rebound_since_are_those_of_the_trace(catcher):
    global SIZE

    @sx.function
    def grown(x):
        return jnp.concatenate([x] * SIZE)

    grown(np.ones((3,), "float32"))
    SIZE = 5
    (made,) = catcher.caught
    moved = made.traced_for(jax.devices()[:1], None)
    assert moved.compiled.lower(*moved.arguments).out_info[1][0].shape == (6,)
    assert SIZE == 5
    SIZE = 2


def test_a_program_of_no_strategy_stays_on_one_device(catcher):
    sx.function(lambda x: x * 2)(np.ones((3,), "float32"))
    (made,) = catcher.caught
    moved = made.traced_for(jax.devices()[2:5], None)
    (spec,) = jax.tree.leaves(moved.arguments)
    assert spec.sharding.device_set == {jax.devices()[2]}


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
        assert regions.is_heard()
    assert not regions.is_heard()

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


@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("fit", {"train_function", "train"}),
        ("train", {"train_function", "train"}),
        ("evaluate", {"test_function", "evaluate"}),
        ("predict", {"predict_function", "predict"}),
        ("my_step", {"my_step"}),
    ],
)
def test_a_method_stands_for_the_programs_of_keras_and_of_estimators(name, programs):
    assert _catching.programs_of(name) == programs


def test_what_is_wanted_and_was_not_run_is_missing():
    catcher = Catcher(wanted=["fit", "evaluate", "my_step"])
    with catcher.catching():
        model = small_model(sx.distribute.MirroredStrategy(DEVICES[:2]))
        model.predict(np.zeros((8, 4), "float32"), verbose=0)
        model.fit(np.zeros((8, 4), "float32"), np.zeros((8, 2), "float32"), batch_size=4, verbose=0)
    assert names(catcher) == ["train_function"]
    assert catcher.missing == ["evaluate", "my_step"]


def adam_model(features, labels, mode):
    train = v1.train
    loss = v1.losses.mean_squared_error(labels, v1.layers.dense(features, 2))
    train_op = train.AdamOptimizer(0.1).minimize(loss, train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, predictions={"loss": loss})


def batches():
    x, y = np.zeros((64, 4), "float32"), np.zeros((64, 2), "float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(4).repeat()


def adam_estimator(folder):
    config = tf.estimator.RunConfig(train_distribute=tf.distribute.MirroredStrategy(DEVICES[:2]))
    return tf.estimator.Estimator(adam_model, str(folder), config)


def test_an_estimators_training_is_cut_short_and_what_comes_behind_it_runs(tmp_path):
    catcher = Catcher(wanted=["train", "evaluate"], limit=3)
    with catcher.catching():
        estimator = adam_estimator(tmp_path)
        estimator.train(batches, max_steps=10_000)
        with pytest.raises(_catching.Enough):
            estimator.evaluate(batches, steps=2)
    assert {"train", "evaluate"} <= set(names(catcher))
    assert catcher.num_dispatches["train"] < 9
