"""`tf.layers` gives TensorFlow 1's numbers, names and collections; what TensorFlow gave is in `tests/golden`."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import layers
from tests.golden import layers_cases, layers_references
from tests.tensorflow.v1.steps import Step


@pytest.mark.parametrize("key", layers_cases.CASES)
def test_a_function_gives_tensorflows_numbers(key):
    name, shape, given = layers_cases.CASES[key]
    result = Step(lambda scope, x: getattr(layers, name)(x, **given))(layers_cases.inputs(shape))
    expected = layers_references.VALUES[key]
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("key", layers_cases.STATISTICS)
def test_batch_normalization_learns_tensorflows_statistics(key):
    shape, given = layers_cases.STATISTICS[key]

    def trained(scope, x):
        result = layers.BatchNormalization(**given)(x, training=True)
        # Nothing depends on the update.
        scope.run(None)
        return result

    train = Step(trained)
    for step in range(3):
        result = train(layers_cases.inputs(shape, step) + step)
        found = {
            "": result,
            "|mean": train.value("batch_normalization/moving_mean"),
            "|variance": train.value("batch_normalization/moving_variance"),
        }
        for suffix, value in found.items():
            expected = layers_references.VALUES[f"{key}|{step}{suffix}"]
            np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-5, err_msg=f"step {step} {suffix}")

    def evaluated(scope, x):
        return layers.BatchNormalization(**given)(x, training=False)

    result = Step(evaluated, "eval", state=train.state)(layers_cases.inputs(shape, 2) + 2)
    np.testing.assert_allclose(result, layers_references.VALUES[f"{key}|evaluated"], rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("key", layers_references.NAMES)
def test_variables_have_tensorflows_names_in_every_trace(key):
    def body(scope, x):
        arguments = (layers, v1.variable_scope, v1.get_variable_scope, v1.AUTO_REUSE)
        layers_cases.models(*arguments)[key]()
        assert [variable.path for variable in scope.global_variables()] == layers_references.NAMES[key]
        return x

    step = Step(body)
    step(np.float32(0))
    step(np.float32([0]))
    assert step.names == layers_references.NAMES[key]


def test_collections_have_losses_and_updates():
    def body(scope, x):
        half = keras.regularizers.L2(0.5)
        with v1.variable_scope("s", regularizer=lambda w: jnp.sum(w) * 0 + 7.0):
            layers.dense(x, 1, use_bias=False, kernel_initializer="ones", kernel_regularizer=half)
        layers.dense(x, 2, kernel_initializer="ones", activity_regularizer=half, name="d")
        layers.dense(x, 2, name="d", reuse=True, kernel_regularizer=half)
        layers.batch_normalization(x, training=True)
        layers.batch_normalization(x)
        assert len(v1.get_collection(v1.GraphKeys.UPDATE_OPS)) == 1
        assert len(v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES, scope="s")) == 2
        return v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    # The scope's regularizer, the layer's of 3 ones, and that of 4 x 2 results that are 3, over a batch of 4.
    assert Step(body)(np.ones((4, 3), np.float32)) == [7, 1.5, 9]


def test_updates_are_made_once_also_if_something_depends_on_them():
    def body(scope, x, depends):
        layers.batch_normalization(x, momentum=0.5, training=True)
        with v1.control_dependencies(v1.get_collection("update_ops") if depends else None):
            train = v1.get_variable("v", (), initializer=keras.initializers.Zeros()).assign_add(1.0)
        scope.run(train)
        return x

    for depends in (False, True):
        step = Step(body)
        step(np.full((4, 3), 2.0, np.float32), depends)
        assert step.value("batch_normalization/moving_mean").tolist() == [1, 1, 1]


def test_updates_wait_to_be_run_outside_of_training():
    def body(scope, x, runs):
        layers.batch_normalization(x, momentum=0.5, training=True)
        scope.run(v1.get_collection("update_ops") if runs else None)
        return x

    for runs, expected in ((False, 0), (True, 1)):
        step = Step(body, mode="eval")
        step(np.full((4, 3), 2.0, np.float32), runs)
        assert step.value("batch_normalization/moving_mean").tolist() == [expected] * 3


def test_training_may_be_a_tensor():
    def body(scope, x, training):
        result = layers.batch_normalization(layers.dropout(x, 0.5, training=training), training=training)
        scope.run(None)
        return result

    step = Step(body)
    x = np.full((64, 3), 2.0, np.float32)
    np.testing.assert_allclose(step(x, jnp.asarray(False)), x / np.sqrt(1.001), rtol=1e-6)
    assert step.value("batch_normalization/moving_mean").tolist() == [0, 0, 0]
    assert np.ptp(step(x, jnp.asarray(True))) > 0
    assert (step.value("batch_normalization/moving_mean") > 0).all()


def test_dropout_draws_anew_in_each_step_and_follows_its_seed():
    def body(scope, x, seed):
        return layers.dropout(x, 0.25, noise_shape=(None, 1), seed=seed, training=True)

    x = np.ones((100, 3), np.float32)
    step, again = Step(body), Step(body)
    first, second = step(x, 5), step(x, 5)
    assert (np.asarray(again(x, 5)) == first).all()
    assert (np.asarray(first) != second).any()
    assert set(np.unique(first)) == {0, np.float32(1 / 0.75)}
    assert (np.ptp(first, axis=1) == 0).all()
    assert 10 < np.sum(np.asarray(first)[:, 0] == 0) < 45
    unseeded = Step(body)
    assert (np.asarray(unseeded(x, None)) != unseeded(x, None)).any()
    # The model's own generator, which checkpoints hold.
    assert unseeded.names == ["seed_generator_state"]


def test_the_initializer_is_the_scopes_where_a_layer_has_none():
    def body(scope, x):
        with v1.variable_scope("s", initializer=keras.initializers.Constant(3.0)):
            layers.dense(x, 2)
        layers.dense(x, 200)
        return x

    step = Step(body)
    step(np.ones((2, 100), np.float32))
    assert np.unique(step.value("s/dense/kernel")).tolist() == [3]
    # Glorot's uniform.
    limit = np.sqrt(6 / 300)
    assert 0.95 * limit < np.abs(step.value("dense/kernel")).max() <= limit


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


def test_a_layer_of_ones_own():
    class Scale(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight("factor", (shape[-1],), initializer="ones")
            self.built = True

        def call(self, inputs):
            return inputs * self.factor

    def body(scope, x):
        with v1.variable_scope("s"):
            return Scale()(Scale()(x))

    step = Step(body)
    assert step(np.ones((2, 3), np.float32)).tolist() == [[1] * 3] * 2
    assert step.names == ["s/scale/factor", "s/scale_1/factor"]


def test_variables_have_the_inputs_dtype():
    def body(scope, x):
        return layers.batch_normalization(layers.dense(x, 2), training=True)

    step = Step(body)
    assert step(jnp.ones((2, 3), "bfloat16")).dtype == "bfloat16"
    assert step.value("dense/kernel").dtype == "bfloat16"
    assert step.value("batch_normalization/gamma").dtype == "float32"


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


def test_a_function_that_may_not_share_raises():
    def body(scope, x):
        layers.dense(x, 2, name="a")
        with pytest.raises(errors.BadArgumentError, match="Variable a/kernel already exists, disallowed"):
            layers.dense(x, 2, name="a")
        with pytest.raises(errors.BadArgumentError, match="Variable b/kernel does not exist"):
            layers.dense(x, 2, name="b", reuse=True)
        first, second = (layers.dense(x, 2, name="c", reuse=v1.AUTO_REUSE) for _ in range(2))
        assert len(scope.global_variables()) == 4
        return first - second

    assert not np.any(Step(body)(np.ones((2, 3), np.float32)))


def test_what_is_not_supported_or_wrong_is_refused():
    for argument in ({"renorm": True}, {"virtual_batch_size": 2}, {"adjustment": lambda shape: shape}):
        with pytest.raises(errors.BadArgumentError, match=f"does not support {next(iter(argument))}"):
            layers.BatchNormalization(**argument)
    with pytest.raises(errors.BadArgumentError, match="along one dimension"):
        layers.BatchNormalization(axis=[1, 2])
    with pytest.raises(errors.BadTypeError, match=r"tf.layers.dense: missing.*'units'"):
        layers.dense(np.ones((2, 3)))
    with pytest.raises(errors.ModelScopeError, match="inside of a `model_fn`"):
        layers.dense(np.ones((2, 3), np.float32), 2)
    with pytest.raises(errors.BadArgumentError, match="once it is called"):
        _ = layers.Dense(2).scope_name


def test_a_layer_belongs_to_one_trace():
    kept = []

    def body(scope, x):
        if not kept:
            kept.append(layers.Dense(2))
        return kept[0](x)

    step = Step(body)
    step(np.ones((2, 3), np.float32))
    with pytest.raises(errors.ModelScopeError, match="made outside or by an earlier call"):
        step(np.ones((3, 3), np.float32))


def test_layers_and_models_of_keras_stand_beside():
    def body(scope, x):
        model = keras.Sequential(
            [keras.Input((3,)), keras.layers.Dense(2), keras.layers.BatchNormalization()]
        )
        hidden = layers.dense(keras.layers.Dense(3)(x), 3)
        with v1.variable_scope("tower"):
            hidden = keras.layers.Dense(3)(hidden)
        out = model(hidden, training=scope.mode == "train")
        gradients = v1.gradients(jnp.sum(out), scope.trainable_variables())
        assert all(gradient is not None for gradient in gradients)
        return out

    step = Step(body)
    for rows in (2, 3):
        step(np.ones((rows, 3), np.float32))
    assert step.names == [
        "sequential/dense/kernel",
        "sequential/dense/bias",
        "sequential/batch_normalization/gamma",
        "sequential/batch_normalization/beta",
        "sequential/batch_normalization/moving_mean",
        "sequential/batch_normalization/moving_variance",
        "dense_1/kernel",
        "dense_1/bias",
        "dense/kernel",
        "dense/bias",
        "tower/dense_3/kernel",
        "tower/dense_3/bias",
    ]


def test_a_layer_of_keras_may_have_the_name_that_a_layer_gets():
    def body(scope, x):
        x = layers.dense(keras.layers.Dense(2)(x), 4)
        with v1.variable_scope("dense", reuse=True):
            assert v1.get_variable("kernel", (2, 4)) is scope.global_variables()[2]
        return x

    step = Step(body)
    step(np.ones((2, 3), np.float32))
    assert step.names == ["dense/kernel", "dense/bias", "dense/kernel_1", "dense/bias_1"]


def test_replicas_share_variables_and_average_statistics():
    x = layers_cases.inputs((16, 6))

    def body(scope, x):
        result = layers.dense(x, 3, kernel_initializer=layers_cases.weights)
        layers.batch_normalization(result, momentum=0.5, training=True)
        scope.run(None)
        return result

    one, many = Step(body), Step(body)
    expected = one(x)
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(8)])
    batch = next(iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensors(x))))
    with strategy.scope():
        parts = strategy.run(many.function, args=(batch,))
    np.testing.assert_allclose(
        np.concatenate(strategy.experimental_local_results(parts)), expected, atol=1e-6
    )
    assert many.names == one.names
    np.testing.assert_allclose(
        many.value("batch_normalization/moving_mean"), one.value("batch_normalization/moving_mean"), atol=1e-6
    )
    parts = np.asarray(expected).reshape(8, 2, 3)
    np.testing.assert_allclose(
        many.value("batch_normalization/moving_variance"), 0.5 + 0.5 * parts.var(1).mean(0), rtol=1e-5
    )


def test_results_have_the_names_of_tensorflows_operations():
    def body(scope, x):
        image, volume = np.ones((2, 6, 6, 3), np.float32), np.ones((2, 4, 4, 4, 2), np.float32)
        layers.dense(x, 2)
        layers.dense(x, 2, tf.nn.relu)
        layers.dense(x, 2, "sigmoid", name="head")
        layers.dense(x, 2, use_bias=False)
        layers.dense(x, 2, lambda x: x)
        with v1.variable_scope("s"):
            layers.conv2d(image, 2, 3)
            layers.conv3d(volume, 2, 3, activation="softmax")
            layers.conv2d(image, 2, 3, use_bias=False)
        layers.max_pooling1d(image[:, 0], 2, 2)
        layers.max_pooling2d(image, 2, 2)
        layers.average_pooling3d(volume, 2, 2)
        assert layers.flatten(image) is scope.tensors()["flatten/Reshape"]
        seen[:] = scope.tensors()
        return x

    seen: list[str] = []
    expected = """
        dense/BiasAdd dense_1/Relu head/Sigmoid dense_2/MatMul s/conv2d/BiasAdd s/conv3d/Softmax s/conv2d_1/Conv2D
        max_pooling1d/Squeeze max_pooling2d/MaxPool average_pooling3d/AvgPool3D flatten/Reshape
    """
    Step(body)(np.ones((2, 3), np.float32))
    assert seen == expected.split()


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


def test_replicas_drop_elements_of_their_own():
    for seed in (None, 3):
        step = Step(lambda scope, x, seed=seed: layers.dropout(x, 0.5, seed=seed, training=True))
        first, second = (on_replicas(step, np.ones((16, 32), np.float32)) for _ in range(2))
        assert (first != second).any()
        assert len({part.tobytes() for part in np.split(first, 8)}) == 8


def on_replicas(step, x):
    """What a step gives for a batch on 8 replicas, put together."""
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{i}" for i in range(8)])
    batch = next(iter(strategy.experimental_distribute_dataset(sx.data.Dataset.from_tensors(x))))
    with strategy.scope():
        parts = strategy.run(step.function, args=(batch,))
    return np.concatenate(strategy.experimental_local_results(parts))
