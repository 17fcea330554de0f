"""Values are saved and restored by structure, all of them or none."""

import json
import logging
import warnings

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _restoration
from stratax.core import _arrivals
from stratax.data import Dataset
from stratax.train import Checkpoint, CheckpointOptions

X = np.random.default_rng(0).normal(size=(24, 3)).astype("float32")
Y = np.random.default_rng(1).normal(size=(24, 2)).astype("float32")


def network(units=4):
    return keras.Sequential([keras.layers.Dense(units, activation="relu"), keras.layers.Dense(2)])


def built(units=4):
    model = network(units)
    model.build((None, 3))
    return model


def values(variables):
    return [np.asarray(variable) for variable in variables]


def assert_equal(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def trained(optimizer="adam"):
    model = built()
    model.compile(optimizer, "mse")
    model.fit(X, Y, batch_size=8, verbose=0)
    return model


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


def test_slots_of_an_optimizer_that_is_not_built_yet_are_restored_when_it_is(tmp_path):
    model = trained()
    path = Checkpoint(model=model).save(tmp_path / "ckpt")
    again = built()
    again.compile("adam", "mse")
    status = Checkpoint(model=again).restore(path)
    with pytest.raises(errors.RestoreError, match="Saved values were not restored.*momentums"):
        status.assert_consumed()
    for each in (model, again):
        each.fit(X, Y, batch_size=8, verbose=0, shuffle=False)
    status.assert_consumed()
    assert_equal(values(model.optimizer.variables), values(again.optimizer.variables))
    assert_equal(values(model.variables), values(again.variables))


def test_layers_that_build_themselves_in_a_compiled_function_are_restored_before_it_runs(tmp_path):
    model = built()
    path = Checkpoint(net=model).save(tmp_path / "ckpt")
    again = network()
    status = Checkpoint(net=again).restore(path)
    predictions = sx.function(lambda x: again(x))(X)
    np.testing.assert_allclose(predictions, model(X), rtol=1e-6)
    status.assert_consumed()


def test_layers_that_build_themselves_eagerly_are_restored_before_they_compute(tmp_path):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.blocks = [keras.layers.Dense(4), keras.layers.Dense(4)]
            self.heads = {"first": keras.layers.Dense(2)}

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return self.heads["first"](x)

    model = Model()
    expected = model(X)
    path = Checkpoint(net=model).save(tmp_path / "ckpt")
    again = Model()
    status = Checkpoint(net=again).restore(path)
    np.testing.assert_array_equal(again(X), expected)
    status.assert_consumed()


def test_an_optimizer_used_eagerly_is_restored_before_its_first_step(tmp_path):
    def step(weights, optimizer):
        optimizer.apply([np.array([0.5, 2.0], "float32")], [weights])

    weights, optimizer = sx.Variable([1.0, 2.0]), keras.optimizers.Adam(0.1)
    step(weights, optimizer)
    path = Checkpoint(weights=weights, optimizer=optimizer).save(tmp_path / "ckpt")
    other, fresh = sx.Variable([0.0, 0.0]), keras.optimizers.Adam(0.1)
    status = Checkpoint(weights=other, optimizer=fresh).restore(path)
    step(weights, optimizer)
    step(other, fresh)
    status.assert_consumed()
    assert_equal(values([weights, *optimizer.variables]), values([other, *fresh.variables]))


def test_attributes_that_are_set_later_get_their_values_then(tmp_path):
    path = Checkpoint(step=sx.Variable(7), nested={"a": [sx.Variable(2.0)]}).save(tmp_path / "ckpt")
    checkpoint = Checkpoint()
    status = checkpoint.restore(path)
    checkpoint.step = sx.Variable(0)
    assert int(checkpoint.step) == 7
    inner = sx.Variable(0.0)
    checkpoint.nested = {"a": [inner]}
    assert float(inner) == 2.0
    status.assert_consumed()
    assert int(checkpoint.save_counter) == 1


def test_what_is_shared_is_found_by_either_way(tmp_path):
    model = built()
    path = Checkpoint(first=model.layers[0], model=model).save(tmp_path / "ckpt")
    again = built()
    Checkpoint(model=again).restore(path).assert_consumed()
    assert_equal(values(model.variables), values(again.variables))
    path = Checkpoint(model=again).save(tmp_path / "other")
    third = built()
    Checkpoint(first=third.layers[1], model=third).restore(path).assert_consumed()
    assert_equal(values(model.variables), values(third.variables))


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


def test_a_variable_without_a_value_is_an_error_and_nothing_is_restored(tmp_path):
    path = Checkpoint(a=sx.Variable(1.0)).save(tmp_path / "ckpt")
    a, b = sx.Variable(5.0), sx.Variable(6.0)
    with pytest.raises(
        errors.RestoreError, match="variables without a value: b; values without a variable: none"
    ):
        Checkpoint(a=a, b=b).restore(path)
    assert (float(a), float(b)) == (5.0, 6.0)
    status = Checkpoint(a=a, b=b).restore(path, CheckpointOptions(expect_partial=True))
    assert (float(a), float(b)) == (1.0, 6.0)
    with pytest.raises(AssertionError, match="Variables were not restored.*Received: b"):
        status.assert_existing_objects_matched()


def test_a_value_of_a_built_model_without_such_a_variable_is_an_error(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dense(2)])
    path = Checkpoint(model=model).save(tmp_path / "ckpt")
    smaller = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    with pytest.raises(errors.RestoreError, match="values without a variable: model/layers/1/bias"):
        Checkpoint(model=smaller).restore(path)


def test_other_shapes_and_dtypes_are_an_error_that_names_the_variable(tmp_path):
    path = Checkpoint(model=built(4), n=sx.Variable(0)).save(tmp_path / "ckpt")
    with pytest.raises(
        errors.RestoreError, match=r"layers/0/kernel is float32\[3, 5\], its value is float32\[3, 4\]"
    ):
        Checkpoint(model=built(5), n=sx.Variable(0)).restore(path)
    with pytest.raises(errors.RestoreError, match=r"n is float32\[\], its value is int32\[\]"):
        Checkpoint(model=built(4), n=sx.Variable(0.0)).restore(path)


@pytest.mark.parametrize(
    "dtype", ["int64", "float64", "uint32", "bfloat16", "float8_e4m3fn", "bool", "complex64"]
)
def test_a_variable_of_any_dtype_is_restored(tmp_path, dtype):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype")
        saved, fresh = (sx.Variable(np.full((2,), value), dtype=dtype) for value in (1, 0))
    path = Checkpoint(v=saved).write(tmp_path / "ckpt")
    Checkpoint(v=fresh).restore(path).assert_consumed()
    np.testing.assert_array_equal(np.asarray(fresh), np.asarray(saved))


def test_what_a_large_deferred_restoration_does_grows_with_its_size_alone(tmp_path, monkeypatch):
    def calls(count):
        model = keras.Sequential([keras.Input((1,)), *(keras.layers.Dense(1) for _ in range(count))])
        model.compile("adam", "mse")
        optimizer = model.optimizer
        if not (tmp_path / str(count)).exists():
            optimizer.build(model.trainable_variables)
            Checkpoint(model=model, optimizer=optimizer).write(tmp_path / str(count))
            return calls(count)
        called = []
        resolved = _restoration._resolved
        with monkeypatch.context() as patch:
            patch.setattr(_restoration, "_resolved", lambda *args: called.append(1) or resolved(*args))
            Checkpoint(model=model, optimizer=optimizer).restore(tmp_path / str(count)).expect_partial()
        return len(called)

    assert calls(20) < 3 * calls(10)


def test_restoring_the_same_objects_again_and_again_keeps_the_values_of_the_last_only(tmp_path):
    def fresh():
        model = built()
        model.compile("adam", "mse")
        return model

    path = Checkpoint(model=trained()).write(tmp_path / "ckpt")
    model, other = fresh(), fresh()
    before = len(_arrivals.waiting())
    for _ in range(3):
        status = Checkpoint(model=model).restore(path)
    assert len(_arrivals.waiting()) == before + 1
    Checkpoint(model=other).restore(path)
    assert len(_arrivals.waiting()) == before + 2
    for each in (model, other):
        each.fit(X, Y, batch_size=8, verbose=0)
        assert int(each.optimizer.iterations) == 6
    status.assert_consumed()
    assert len(_arrivals.waiting()) == before


def test_nothing_that_matches_is_noticed(tmp_path):
    path = Checkpoint(a=sx.Variable(1.0)).write(tmp_path / "ckpt")
    status = Checkpoint().restore(path)
    with pytest.raises(errors.RestoreError, match="Nothing was restored"):
        status.assert_nontrivial_match()
    assert Checkpoint().restore(None).expect_partial() is not None
    with pytest.raises(errors.RestoreError, match="no checkpoint to restore"):
        Checkpoint().restore(None).assert_consumed()


def test_values_that_nothing_took_are_told_of_when_another_is_restored(tmp_path, caplog):
    path = Checkpoint(a=sx.Variable(1.0), b=sx.Variable(1.0)).write(tmp_path / "ckpt")
    checkpoint = Checkpoint(a=sx.Variable(0.0))
    with caplog.at_level(logging.WARNING, logger="stratax"):
        checkpoint.restore(path).expect_partial()
        checkpoint.restore(path)
        assert not caplog.records
        checkpoint.restore(path).expect_partial()
    assert "no variable has taken b" in caplog.text


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


def test_json_alone_holds_what_is_not_an_array(tmp_path):
    checkpoint = Checkpoint(iterator=iter(Dataset.range(3)))
    path = checkpoint.write(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    index = json.loads((tmp_path / "ckpt" / "index.json").read_text())
    assert list(index["inputs"]) == ["iterator"]
    assert path == str(tmp_path / "ckpt")
