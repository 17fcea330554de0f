"""What is found below an object, and under which key paths."""

import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.checkpoint import _graph
from stratax.train import Checkpoint, CheckpointOptions


def key_paths(**objects):
    return sorted(_graph.find(Checkpoint(**objects)).variables)


def test_a_functional_models_layers_have_their_positions():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, keras.layers.Dense(2)(keras.layers.BatchNormalization()(inputs)))
    found = key_paths(model=model)
    assert "model/layers/2/kernel" in found
    assert "model/layers/1/moving_mean" in found
    assert len(found) == len(model.variables)


def test_a_nested_layers_attributes_lists_and_dicts_have_their_names():
    class Block(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = [keras.layers.Dense(1), {"a/b": keras.layers.Dense(1)}]
            self.scale = self.add_weight(shape=(), name="anything")
            self.drop = keras.layers.Dropout(0.5)

        def call(self, x):
            return self.parts[1]["a/b"](self.parts[0](x)) * self.scale

    block = Block()
    block(np.ones((1, 2)))
    assert key_paths(block=block) == [
        "block/drop/seed_generator/state",
        "block/parts/0/bias",
        "block/parts/0/kernel",
        "block/parts/1/a%2Fb/bias",
        "block/parts/1/a%2Fb/kernel",
        "block/scale",
    ]


def test_slots_are_named_by_their_variables_in_whatever_order_the_objects_come():
    weights = sx.Variable([1.0])
    optimizer = keras.optimizers.Adam(0.1, amsgrad=True)
    optimizer.build([weights])
    expected = [
        "o/iterations",
        "o/learning_rate",
        "o/momentums/@w",
        "o/velocities/@w",
        "o/velocity_hats/@w",
        "w",
    ]
    assert key_paths(o=optimizer, w=weights) == key_paths(w=weights, o=optimizer) == expected
    assert "o/momentums/0" in key_paths(o=optimizer)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.RMSprop(0.1, centered=True, momentum=0.1),
        lambda: keras.optimizers.Adafactor(0.1),
        lambda: keras.optimizers.Adam(0.1, use_ema=True),
        lambda: keras.optimizers.Adam(0.1, gradient_accumulation_steps=2),
        lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(0.1)),
        lambda: keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9)),
    ],
)
def test_everything_that_an_optimizer_keeps_is_saved_and_restored(tmp_path, make):
    def pair():
        weights, optimizer = sx.Variable(np.ones((2, 3), "float32")), make()
        optimizer.build([weights])
        return weights, optimizer

    weights, optimizer = pair()
    for value in optimizer.variables:
        value.assign(np.full(value.shape, 3))
    assert len(key_paths(w=weights, o=optimizer)) == len(optimizer.variables) + 1
    path = Checkpoint(w=weights, o=optimizer).write(tmp_path / "ckpt", CheckpointOptions(enable_async=False))
    other, fresh = pair()
    Checkpoint(w=other, o=fresh).read(path).assert_consumed()
    for value in fresh.variables:
        np.testing.assert_array_equal(value, np.full(value.shape, 3))


def test_something_shared_has_one_way_and_further_ones_that_lead_there():
    layer = keras.layers.Dense(1)
    layer.build((None, 2))
    found = _graph.find(Checkpoint(a=layer, b=[layer]))
    assert sorted(found.variables) == ["a/bias", "a/kernel"]
    assert found.aliases["b/0"] == "a"


def test_two_things_of_one_way_are_refused_and_attributes_that_differ_by_an_underscore_are_both_there():
    with pytest.raises(errors.BadArgumentError, match=r"Received: 'd/1' twice"):
        key_paths(d={1: sx.Variable(0), "1": sx.Variable(0)})

    class Shift(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self._by = self.add_weight(shape=())
            self.by = self.add_weight(shape=())

    shift = Shift()
    assert key_paths(shift=shift) == ["shift/_by", "shift/by"]
    with pytest.raises(errors.BadArgumentError, match=r"Received: 'by' twice"):
        _graph.find(Checkpoint(shift, by=sx.Variable(0)))


def test_something_that_can_not_be_saved_is_named_with_its_way():
    with pytest.raises(errors.BadTypeError, match=r"Received: things/1='text'"):
        _graph.find(Checkpoint(things=[sx.Variable(0), "text"]))
