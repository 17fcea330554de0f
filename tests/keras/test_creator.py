"""`fit` takes a DatasetCreator under each kind of strategy, and calls it with an InputContext."""

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from tests.distribute.parameter_servers import one_device, strategy_on


def fitted(strategy, **kwargs):
    contexts = []

    def dataset_fn(context):
        contexts.append(context)
        x = np.arange(32, dtype="float32").reshape(-1, 2) / 32
        batch = 16 // context.num_replicas_in_sync
        return sx.data.Dataset.from_tensor_slices((x, x[:, :1])).repeat().batch(batch)

    keras.utils.set_random_seed(0)
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    creator = tf.keras.utils.experimental.DatasetCreator(dataset_fn)
    return model.fit(creator, verbose=0, epochs=2, **kwargs).history, contexts


def test_a_creator_gives_the_batches_of_a_dataset():
    history, contexts = fitted(one_device(), steps_per_epoch=3, validation_data=None)
    assert contexts[0].num_input_pipelines == 1
    mirrored, _ = fitted(sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]), steps_per_epoch=3)
    np.testing.assert_allclose(history["loss"], mirrored["loss"], rtol=1e-5)
    with strategy_on(1) as strategy:
        np.testing.assert_allclose(fitted(strategy, steps_per_epoch=3)[0]["loss"], history["loss"], rtol=1e-5)


def test_the_number_of_steps_has_to_be_given():
    with pytest.raises(errors.BadArgumentError, match="steps_per_epoch"):
        fitted(one_device())
    with pytest.raises(errors.BadTypeError, match="DatasetCreator expects a function"):
        tf.keras.utils.experimental.DatasetCreator([1])
