"""Convolutions as layers: a class's variables, channels in front, replicas."""

import numpy as np

import stratax as sx
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.golden import layers_cases
from tests.tensorflow.v1.steps import Step


def test_a_class_has_its_variables():
    def body(scope, x):
        layer = layers.Conv2D(2, 3, name="c", trainable=False)
        result = layer.apply(x)
        assert [v.path for v in layer.variables] == ["c/kernel", "c/bias"]
        assert (layer.kernel.path, layer.bias.path) == ("c/kernel", "c/bias")
        assert (layer.trainable_weights, scope.trainable_variables()) == ([], [])
        assert (layer.name, layer.scope_name) == ("c", "c")
        assert layer(x).shape == result.shape
        norm = layers.BatchNormalization()
        norm(x, training=True)
        assert norm.updates == v1.get_collection("update_ops")
        assert [v.path for v in norm.trainable_weights] == [
            "batch_normalization/gamma",
            "batch_normalization/beta",
        ]
        return result

    Step(body)(np.ones((1, 5, 5, 1), np.float32))


def test_channels_may_come_first():
    x = layers_cases.inputs((2, 6, 5, 3))
    first = np.moveaxis(x, -1, 1)
    given = {"kernel_initializer": layers_cases.weights, "name": "layer"}

    def compare(make):
        last = Step(lambda scope, x: make(x, "channels_last"))(x)
        np.testing.assert_allclose(
            np.moveaxis(Step(lambda scope, x: make(x, "channels_first"))(first), 1, -1), last, atol=1e-5
        )

    compare(lambda x, where: layers.conv2d(x, 4, 3, data_format=where, **given))
    compare(lambda x, where: layers.conv2d_transpose(x, 4, 3, data_format=where, **given))
    compare(lambda x, where: layers.max_pooling2d(x, 2, 2, data_format=where))
    compare(
        lambda x, where: layers.batch_normalization(x, -1 if where.endswith("last") else 1, training=True)
    )


def test_replicas_give_what_one_device_gives():
    x = 100 * layers_cases.inputs((16, 6, 5, 2))
    given = {"kernel_initializer": layers_cases.weights}

    def body(scope, x):
        x = layers.conv2d(x, 4, 3, padding="same", **given)
        x = layers.separable_conv2d(
            x, 4, 2, depthwise_initializer=layers_cases.weights, pointwise_initializer=layers_cases.weights
        )
        x = layers.max_pooling2d(layers.conv2d_transpose(x, 2, 3, **given), 2, 2)
        x = layers.average_pooling1d(layers.conv1d(x[:, 0], 3, 2, **given), 2, 1)
        return layers.dense(layers.flatten(x), 3, name="head", **given)

    expected = Step(body)(x)
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(on_replicas(Step(body), x), expected, rtol=1e-5, atol=1e-5)


def on_replicas(step, x):
    """What a step gives for a batch on 8 replicas, put together."""
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(8)])
    batch = next(iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensors(x))))
    with strategy.scope():
        parts = strategy.run(step.function, args=(batch,))
    return np.concatenate(strategy.experimental_local_results(parts))
