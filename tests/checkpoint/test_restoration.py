"""Live variables get a checkpoint's values, all of them or none, now or when they come to exist."""

import logging
import warnings

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _restoration
from stratax.core import arrivals
from stratax.train import Checkpoint, CheckpointOptions
from tests.checkpoint.models import X, Y, assert_equal, built, network, trained, values


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
    before = len(arrivals.waiting())
    for _ in range(3):
        status = Checkpoint(model=model).restore(path)
    assert len(arrivals.waiting()) == before + 1
    Checkpoint(model=other).restore(path)
    assert len(arrivals.waiting()) == before + 2
    for each in (model, other):
        each.fit(X, Y, batch_size=8, verbose=0)
        assert int(each.optimizer.iterations) == 6
    status.assert_consumed()
    assert len(arrivals.waiting()) == before


def test_values_that_nothing_took_are_told_of_when_another_is_restored(tmp_path, caplog):
    path = Checkpoint(a=sx.Variable(1.0), b=sx.Variable(1.0)).write(tmp_path / "ckpt")
    checkpoint = Checkpoint(a=sx.Variable(0.0))
    with caplog.at_level(logging.WARNING, logger="stratax"):
        checkpoint.restore(path).expect_partial()
        checkpoint.restore(path)
        assert not caplog.records
        checkpoint.restore(path).expect_partial()
    assert "no variable has taken b" in caplog.text
