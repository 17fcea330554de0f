"""Live variables get a checkpoint's values, all of them or none, now or when they come to exist."""

import logging
import pathlib
import warnings

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _restoration, _store
from stratax.core import host
from stratax.data import Dataset
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
        resolved = _restoration._resolve
        with monkeypatch.context() as patch:
            patch.setattr(_restoration, "_resolve", lambda *args: called.append(1) or resolved(*args))
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
    before = len(host.waiting())
    for _ in range(3):
        status = Checkpoint(model=model).restore(path)
    assert len(host.waiting()) == before + 1
    Checkpoint(model=other).restore(path)
    assert len(host.waiting()) == before + 2
    for each in (model, other):
        each.fit(X, Y, batch_size=8, verbose=0)
        assert int(each.optimizer.iterations) == 6
    status.assert_consumed()
    assert len(host.waiting()) == before


def test_values_that_nothing_took_are_reported_when_another_is_restored(tmp_path, caplog):
    path = Checkpoint(a=sx.Variable(1.0), b=sx.Variable(1.0)).write(tmp_path / "ckpt")
    checkpoint = Checkpoint(a=sx.Variable(0.0))
    with caplog.at_level(logging.WARNING, logger="stratax"):
        checkpoint.restore(path).expect_partial()
        checkpoint.restore(path)
        assert not caplog.records
        checkpoint.restore(path).expect_partial()
    assert "no variable has taken b" in caplog.text


ALIASES = {"model/layers/0": "first", "model/head": "model/layers/1"}


@pytest.mark.parametrize(
    ("key_path", "expected"),
    [
        ("model/layers/0/kernel", "first/kernel"),
        ("model/head/bias", "model/layers/1/bias"),
        ("model/layers/1/bias", "model/layers/1/bias"),
        ("model/layers/01", "model/layers/01"),
        ("optimizer/momentums/@model/layers/0/kernel", "optimizer/momentums/@first/kernel"),
    ],
)
def test_what_a_key_path_leads_to_has_one_saved_key_path(key_path, expected):
    assert _restoration._resolve(key_path, ALIASES) == expected


def test_every_key_path_of_an_object_is_a_candidate_also_for_slots():
    others = _restoration.by_first(ALIASES | {"again": "first"})
    assert others == {"first": ["model/layers/0", "again"], "model/layers/1": ["model/head"]}
    assert list(_restoration.candidates("first/kernel", others)) == [
        "first/kernel",
        "model/layers/0/kernel",
        "again/kernel",
    ]
    assert list(_restoration.candidates("m/@model/layers/1", others)) == [
        "m/@model/layers/1",
        "m/@model/head",
    ]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("model/kernel", True),
        ("model/layers/3/kernel", True),
        ("model/optimizer/momentums/@model/kernel", False),
        ("lazy/kernel", False),
        ("other/kernel", False),
    ],
)
def test_only_a_layer_that_is_built_gets_no_more_variables(key, expected):
    there = {"model", "lazy"}
    assert _restoration._can_not_come(key, there, complete={"model"}) is expected


def test_a_listing_shows_the_first_few():
    assert _restoration.listing([]) == "none"
    assert _restoration.listing(["a", "b"]) == "a, b"
    assert _restoration.listing([str(number) for number in range(15)]).endswith("10, 11 and 3 more")


def restored(folder, inputs, **variables):
    """A checkpoint with these positions of input, and an object with one iterator and variables to restore."""
    contents = _store.Contents(arrays={}, names={}, aliases={}, inputs={"iterator": inputs}, random=None)
    _store.write(folder / "ckpt", contents)
    iterator = iter(Dataset.range(10))
    root = Checkpoint(**({"iterator": iterator} | variables))
    _restoration.Restoration(root, _store.read_index(folder / "ckpt")).start(partial=False)
    return iterator


def test_input_that_several_tasks_read_in_parts_can_not_go_on_in_another_number_of_them(tmp_path):
    state = iter(Dataset.range(10)).get_state()
    with pytest.raises(errors.DataError, match=r"'iterator' was read by 2 tasks.*nothing of what 1 tasks"):
        restored(tmp_path, [state, state])


def test_a_variable_is_not_given_a_position(tmp_path):
    state = iter(Dataset.range(10)).get_state()
    with pytest.raises(errors.RestoreError, match=r"iterator is a variable, the value is of the other kind"):
        restored(tmp_path, [state], iterator=sx.Variable(0))


def test_slots_of_optimizers_may_be_left_out(tmp_path):
    def made(value):
        weight, optimizer = sx.Variable([value]), keras.optimizers.SGD(0.5, momentum=0.9)
        optimizer.build([weight])
        return weight, optimizer, Checkpoint(weight=weight, optimizer=optimizer)

    weight, optimizer, checkpoint = made(1.0)
    optimizer.apply([np.float32([2.0])], [weight])
    path = checkpoint.write(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    again, other, root = made(7.0)
    restoration = _restoration.Restoration(root, _store.read_index(pathlib.Path(path)), slots=False)
    restoration.start(partial=False)
    assert restoration.find_unmatched() == restoration.left == []
    assert restoration.settle()
    assert (float(again[0]), int(other.iterations)) == (0.0, 1)
    assert [float(v[0]) for v in other.variables if "momentum" in v.path] == [0.0]
    assert restoration.num_given == len(other.variables)  # The weight is one more, the slot is not given.


def test_values_that_nothing_took_are_reported_at_the_end_unless_that_was_expected(tmp_path, caplog):
    path = Checkpoint(a=sx.Variable(1.0), b=sx.Variable(1.0)).write(
        tmp_path / "ckpt", CheckpointOptions(enable_async=False)
    )
    for is_expected in (True, False):
        root = Checkpoint(a=sx.Variable(0.0))
        restoration = _restoration.Restoration(root, _store.read_index(pathlib.Path(path)))
        restoration.start(partial=True)
        assert restoration.left == ["b"]
        if is_expected:
            restoration.expect_partial()
        with caplog.at_level(logging.WARNING, logger="stratax"):
            restoration.forget()
            restoration.forget()
    assert [record.message for record in caplog.records if "no variable has taken b" in record.message]
    assert len(caplog.records) == 1


def test_tasks_that_read_the_same_go_on_from_one_place_however_many_they_are(tmp_path):
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    dataset = strategy.experimental_distribute_dataset(Dataset.range(64).batch(4))
    noted = iter(dataset).get_state()
    states = [noted | {"steps": 5}, noted | {"steps": 3, "place": noted["place"] | {"position": 2}}]
    contents = _store.Contents(arrays={}, names={}, aliases={}, inputs={"iterator": states}, random=None)
    _store.write(tmp_path / "ckpt", contents)
    iterator = iter(dataset)
    sx.train.Checkpoint(iterator=iterator).restore(tmp_path / "ckpt")
    assert strategy.gather(next(iterator), axis=0).tolist() == [20, 21, 22, 23]


@pytest.mark.parametrize(
    "make",
    [lambda: keras.optimizers.Adafactor(0.1), lambda: keras.optimizers.Adam(0.1)],
    ids=["values", "zeros"],
)
def test_an_optimizer_is_built_in_a_replica_while_another_restoration_waits(tmp_path, make):
    """Adafactor makes variables of values, which Keras refuses in a traced function; who waits may be anybody."""
    # Before the restoration, whose hook is the outer one then.
    strategy = sx.distribute.OneDeviceStrategy("/cpu:0")
    other = Checkpoint(here=sx.Variable(1.0), later=sx.Variable(2.0))
    path = other.save(tmp_path / "other")
    pending = Checkpoint(here=sx.Variable(0.0))
    pending.restore(path).expect_partial()

    def trained():
        with strategy.scope():
            weight, optimizer = sx.Variable([1.0, 2.0]), make()
        strategy.run(lambda: optimizer.apply_gradients([(2 * weight.value, weight)]))
        return weight.numpy()

    found = trained()
    assert host.awaited
    pending.later = sx.Variable(0.0)
    pending.restore(path).assert_consumed()
    np.testing.assert_array_equal(found, trained())
