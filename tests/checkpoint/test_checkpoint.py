"""Values are saved and restored by structure, all of them or none."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.data import Dataset
from stratax.train import Checkpoint, CheckpointOptions
from tests.checkpoint.models import X, Y, assert_equal, built, trained, values


def test_a_compiled_model_is_restored_with_its_optimizer_whatever_its_names(tmp_path):
    model = trained()
    path = Checkpoint(model=model).save(tmp_path / "ckpt")
    assert path == str(tmp_path / "ckpt-1")
    built()
    again = built()
    again.compile("adam", "mse")
    again.optimizer.build(again.trainable_variables)
    assert [v.path for v in again.variables] != [v.path for v in model.variables]
    Checkpoint(model=again).restore(path).assert_consumed()
    assert_equal(values(model.variables), values(again.variables))
    assert_equal(values(model.optimizer.variables), values(again.optimizer.variables))


def test_the_root_is_merged(tmp_path):
    model = built()
    path = Checkpoint(model, step=sx.Variable(4)).save(tmp_path / "ckpt")
    again, step = built(), sx.Variable(0)
    Checkpoint(root=again, step=step).restore(path).assert_consumed()
    assert int(step) == 4
    assert_equal(values(model.variables), values(again.variables))


def test_metrics_seeds_and_arrays_without_elements(tmp_path):
    metric = keras.metrics.Mean()
    metric.update_state([1.0, 5.0])
    seed, empty = keras.random.SeedGenerator(3), sx.Variable(np.zeros((0, 3), "float32"))
    keras.random.uniform((1,), seed=seed)
    path = Checkpoint(metric=metric, seed=seed, empty=empty).write(tmp_path / "ckpt")
    other, fresh = keras.metrics.Mean(), keras.random.SeedGenerator(9)
    Checkpoint(metric=other, seed=fresh, empty=sx.Variable(np.ones((0, 3), "float32"))).read(
        path
    ).assert_consumed()
    assert float(other.result()) == 3.0
    assert_equal(values([seed.state]), values([fresh.state]))


def test_dropout_goes_on_with_the_same_masks(tmp_path):
    model = keras.Sequential([keras.layers.Dropout(0.5)])
    model(np.ones((2, 8)), training=True)
    path = Checkpoint(model=model).write(tmp_path / "ckpt")
    expected = np.asarray(model(np.ones((2, 8)), training=True))
    again = keras.Sequential([keras.layers.Dropout(0.5)])
    again.build((2, 8))
    Checkpoint(model=again).read(path).assert_consumed()
    np.testing.assert_array_equal(again(np.ones((2, 8)), training=True), expected)


def test_global_random_states_are_restored_unless_told_otherwise(tmp_path):
    checkpoint = Checkpoint(step=sx.Variable(0))
    keras.utils.set_random_seed(5)
    path = checkpoint.write(tmp_path / "ckpt")
    first = (np.random.rand(), np.asarray(keras.random.uniform((1,))).item())
    checkpoint.read(path)
    assert (np.random.rand(), np.asarray(keras.random.uniform((1,))).item()) == first
    np.random.seed(0)
    expected = np.random.rand()
    np.random.seed(0)
    checkpoint.read(path, CheckpointOptions(random_state=False))
    assert np.random.rand() == expected


def test_input_goes_on_behind_the_last_element(tmp_path):
    def batches():
        return Dataset.from_tensor_slices(np.arange(40)).shuffle(40, seed=1).batch(3).repeat(2)

    iterator = iter(batches())
    for _ in range(5):
        next(iterator)
    path = Checkpoint(iterator=iterator).save(tmp_path / "ckpt")
    expected = [element.tolist() for element in iterator]
    other = iter(batches())
    Checkpoint(iterator=other).restore(path).assert_consumed()
    assert [element.tolist() for element in other] == expected
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    distributed = iter(strategy.experimental_distribute_dataset(batches()))
    next(distributed)
    path = Checkpoint(iterator=distributed).save(tmp_path / "distributed")
    expected = [np.asarray(strategy.gather(next(distributed), axis=0)).tolist() for _ in range(3)]
    distributed = iter(strategy.experimental_distribute_dataset(batches()))
    Checkpoint(iterator=distributed).restore(path).assert_consumed()
    assert [np.asarray(strategy.gather(next(distributed), axis=0)).tolist() for _ in range(3)] == expected


@pytest.mark.parametrize("devices", [1, 4])
def test_a_checkpoint_is_restored_under_any_strategy_and_training_goes_on_the_same(tmp_path, devices):
    def under(count):
        strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(count)])
        with strategy.scope():
            model = built()
            model.compile(keras.optimizers.Adam(0.01), "mse")
        return model

    model = under(2)
    model.fit(X, Y, batch_size=8, verbose=0, shuffle=False)
    path = Checkpoint(model=model).save(tmp_path / "ckpt")
    again = under(devices)
    Checkpoint(model=again).restore(path)
    losses = [m.fit(X, Y, batch_size=8, verbose=0, shuffle=False).history["loss"] for m in (model, again)]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    assert len(again.weights[0].value.devices()) == devices


def test_nothing_that_matches_is_noticed(tmp_path):
    path = Checkpoint(a=sx.Variable(1.0)).write(tmp_path / "ckpt")
    status = Checkpoint().restore(path)
    with pytest.raises(errors.RestoreError, match="Nothing was restored"):
        status.assert_nontrivial_match()
    status.initialize_or_restore()
    status.run_restore_ops()
    assert Checkpoint().restore(None).expect_partial() is not None
    Checkpoint().restore(None).initialize_or_restore()
    with pytest.raises(errors.RestoreError, match="no checkpoint to restore"):
        Checkpoint().restore(None).run_restore_ops()
    with pytest.raises(errors.RestoreError, match="no checkpoint to restore"):
        Checkpoint().restore(None).assert_consumed()


def test_what_can_not_be_saved_is_named():
    with pytest.raises(
        errors.BadTypeError, match="Received: step=3. Hold a number or an array in a `stratax.Variable`"
    ):
        Checkpoint(step=3).write("unused")
    with pytest.raises(errors.BadTypeError, match="for a Dataset, pass the iterator"):
        Checkpoint(data=Dataset.range(3)).write("unused")
    with pytest.raises(errors.BadArgumentError, match="begin with an underscore"):
        Checkpoint(_a=sx.Variable(0))
    with pytest.raises(errors.BadArgumentError, match="'save' is a method"):
        Checkpoint(save=sx.Variable(0))
    with pytest.raises(errors.BadTypeError, match="options must be"):
        Checkpoint().save("unused", options=3)
    with pytest.raises(errors.BadTypeError, match="path is a string"):
        Checkpoint().restore(3)
    with pytest.raises(errors.BadArgumentError, match="timeout_seconds must be positive"):
        CheckpointOptions(timeout_seconds=0)


def test_nothing_is_saved_or_restored_while_a_function_is_compiled(tmp_path):
    checkpoint = Checkpoint(step=sx.Variable(1))
    path = checkpoint.write(tmp_path / "ckpt")
    for use in (
        lambda: checkpoint.save(tmp_path / "other"),
        lambda: checkpoint.write(tmp_path / "other"),
        lambda: checkpoint.restore(path),
    ):
        with pytest.raises(errors.TracingError, match="can't be saved or restored in a compiled function"):
            sx.function(use)()
    checkpoint.sync()
    assert [each.name for each in tmp_path.iterdir()] == ["ckpt"]
    checkpoint.save(tmp_path / "other")
    assert int(checkpoint.save_counter) == 1


def test_a_copy_is_saved_and_not_what_the_program_does_meanwhile(tmp_path):
    v = sx.Variable(np.zeros(1000, "float32"))
    add = sx.function(lambda: v.assign_add(1.0))
    add()
    checkpoint = Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "ckpt")
    for _ in range(5):
        add()
    checkpoint.read(path)
    np.testing.assert_array_equal(v, np.ones(1000))


def test_a_failed_write_is_raised_at_the_next_call_and_changes_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    step = sx.Variable(4)
    checkpoint = Checkpoint(step=step)
    good = checkpoint.save(tmp_path / "ckpt")
    checkpoint.write(tmp_path / "file" / "ckpt")
    with pytest.raises(errors.CheckpointError, match="could not be written.*FileExistsError"):
        checkpoint.save(tmp_path / "ckpt")
    assert int(checkpoint.save_counter) == 1
    with pytest.raises(errors.CheckpointError, match="could not be written"):
        checkpoint.write(tmp_path / "file" / "ckpt", CheckpointOptions(enable_async=False))
    assert int(step) == 4
    checkpoint.restore(good).assert_consumed()
