"""Methods and arguments of Keras 2 on the classes of `tf.keras`, and files whose names have no ending."""

import pathlib

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.distribute import ShardedStrategy
from stratax.seams import keras2 as seam
from tests.golden import conversion_cases

CONVERSIONS = pathlib.Path(__file__).parents[2] / "golden" / "conversions"
K = tf.keras.backend
X, Y = np.ones((8, 2), np.float32), np.ones((8, 1), np.float32)


def a_model():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(lr=0.5), "mse", experimental_run_tf_function=False)
    return model


@pytest.fixture(scope="module")
def model():
    return a_model()


@pytest.mark.parametrize("path", [*seam.ADDED, *seam.WIDENED])
def test_every_attribute_that_is_listed_exists(path):
    owner, name = seam._owner(path)
    assert hasattr(owner, name)


def test_an_optimizer_takes_lr_and_decay():
    assert float(tf.keras.optimizers.Adam(lr=0.25).lr) == 0.25
    decaying = tf.keras.optimizers.SGD(lr=1.0, decay=1.0)
    variable = tf.Variable([4.0])
    for _ in range(2):
        decaying.apply_gradients([(tf.constant([1.0]), variable)])
    # Keras 2 divides by 1 + decay * iterations: the steps are 1 and 1/2.
    assert variable.numpy().tolist() == [2.5]
    optimizer = tf.keras.optimizers.legacy.Adam(0.5)
    optimizer.lr = 0.125
    assert float(optimizer.learning_rate) == 0.125
    K.set_value(optimizer.lr, 0.0625)
    assert float(K.get_value(optimizer.lr)) == 0.0625
    with pytest.raises(ValueError, match="not recognized"):
        tf.keras.optimizers.SGD(nonsense=1)


def test_minimize_applies_the_gradients_of_a_function_or_of_what_a_tape_recorded():
    variable, optimizer = tf.Variable(3.0), tf.keras.optimizers.SGD(0.5)
    optimizer.minimize(lambda: variable**2, [variable])
    assert variable.numpy() == 0.0
    with tf.GradientTape() as tape:
        loss = variable + 1.0
    optimizer.minimize(loss, lambda: [variable], tape=tape)
    assert variable.numpy() == -0.5
    with pytest.raises(errors.BadArgumentError, match="no tape has recorded it"):
        optimizer.minimize(loss, [variable])
    with pytest.raises(errors.BadArgumentError, match="grad_loss=None"):
        optimizer.minimize(lambda: variable, [variable], grad_loss=1)


def test_a_metric_can_reset_its_states():
    metric = tf.keras.metrics.Mean()
    metric.update_state(3.0)
    metric.reset_states()
    assert float(metric.result()) == 0.0


def test_a_model_has_its_layers_forget_the_batches_before():
    ones = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
    layer = tf.keras.layers.SimpleRNN(1, "linear", batch_input_shape=(2, 3, 1), stateful=True, **ones)
    model, x = tf.keras.Sequential([layer]), np.ones((2, 3, 1))
    assert model.input_shape == (2, 3, 1)
    assert [model.predict(x, batch_size=2, verbose=0)[0, 0] for _ in range(2)] == [3.0, 6.0]
    model.reset_states()
    assert model.predict(x, batch_size=2, verbose=0)[0, 0] == 3.0


def test_generators_workers_and_classes(model):
    def batches():
        while True:
            yield X, Y

    history = model.fit_generator(batches(), 2, 1, verbose=0)
    assert len(history.history["loss"]) == 1
    older = model.fit_generator(
        batches(), samples_per_epoch=2, nb_epoch=2, max_q_size=1, nb_worker=1, verbose=0
    )
    assert len(older.history["loss"]) == 2
    model.fit(X, Y, verbose=0, workers=2, use_multiprocessing=False, max_queue_size=3)
    assert np.isscalar(model.evaluate_generator(batches(), steps=1, verbose=0))
    assert model.predict_generator(batches(), steps=1, verbose=0).shape == (8, 1)
    assert set(model.predict_classes(X).ravel().tolist()) <= {0, 1}
    assert model.layers[0].output_shape == (None, 1)
    assert model.layers[0].input_shape == (None, 2)


def test_weights_and_arguments_in_keras_2s_order():
    class Scale(tf.keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight("scale", [shape[-1]], initializer="ones")
            self.count = self.add_variable(
                "count",
                shape=(),
                initializer="zeros",
                aggregation=tf.VariableAggregation.SUM,
                trainable=False,
            )

        def call(self, x):
            return x * self.scale

    layer = Scale(batch_input_shape=(None, 2))
    assert layer(X).shape == (8, 2)
    assert [weight.name for weight in layer.weights] == ["scale", "count"]
    assert layer.count.aggregation == "sum"


def test_an_average_pooling_takes_two_where_no_size_is_given():
    assert tf.keras.layers.AveragePooling1D().pool_size == (2,)
    assert tf.keras.layers.AveragePooling2D(data_format="channels_last").pool_size == (2, 2)
    assert tf.keras.layers.AveragePooling2D((3, 1)).pool_size == (3, 1)
    restored = tf.keras.layers.AveragePooling3D.from_config(tf.keras.layers.AveragePooling3D(3).get_config())
    assert restored.pool_size == (3, 3, 3)


def test_models_and_weights_are_saved_under_names_without_an_ending(model, tmp_path):
    model.save(tmp_path / "saved", save_format="tf")
    again = tf.keras.models.load_model(tmp_path / "saved")
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    model.save_weights(str(tmp_path / "ckpt"))
    other = a_model()
    other.load_weights(str(tmp_path / "ckpt"))
    np.testing.assert_array_equal(other.predict(X, verbose=0), model.predict(X, verbose=0))
    model.save_weights(tmp_path / "weights.h5")
    other.load_weights(tmp_path / "weights.h5")
    callbacks = [
        tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "cp-{epoch}"), save_weights_only=True, verbose=0),
        tf.keras.callbacks.ModelCheckpoint(str(tmp_path / "model-{epoch}")),
    ]
    model.fit(X, Y, verbose=0, callbacks=callbacks)
    assert {"cp-1.weights.h5", "model-1", "weights.h5"} <= {path.name for path in tmp_path.iterdir()}
    tf.keras.models.load_model(tmp_path / "model-1")


def test_plain_keras_means_what_it_did():
    with pytest.raises(ValueError, match="should be float"):
        keras.optimizers.SGD("fast")
    with pytest.raises(ValueError, match=r"Unrecognized keyword"):
        keras.layers.Dense(1, nonsense=1)
    assert keras.layers.Dense(1).units == 1


def test_the_warning_of_an_input_shape_points_to_the_users_line():
    for argument in ({"input_shape": (2,)}, {"input_dim": 2}):
        with pytest.warns(UserWarning, match="Do not pass an `input_shape`") as caught:
            layer = tf.keras.layers.Dense(1, **argument)
        assert [each.filename for each in caught] == [__file__]
        assert tf.keras.Sequential([layer]).input_shape == (None, 2)


class TestWeightsOfTensorFlow:
    @pytest.mark.parametrize("name", ["keras2_adam/ckpt-1", "keras2_beside/ckpt-1", "keras2_saved"])
    def test_a_model_takes_them(self, name):
        folder = CONVERSIONS / name.partition("/")[0]
        model = conversion_cases.model(tf.keras)
        model.compile("adam", "mse")
        status = model.load_weights(str(CONVERSIONS / name)).expect_partial()
        with np.load(folder / "numbers.npz") as golden:
            predicted = np.asarray(model(conversion_cases.batches()[0], training=False))
            np.testing.assert_allclose(predicted, golden["predicted"], atol=1e-6)
        status.assert_existing_objects_matched().assert_nontrivial_match()
        assert model.optimizer.iterations == 0
        with pytest.raises(errors.RestoreError, match="no weights of the model"):
            status.assert_consumed()

    def test_a_model_in_parts_takes_them_into_its_places(self):
        layout = {"(first|shared|last)/kernel": ("shard",)}
        with ShardedStrategy(["/cpu:0", "/cpu:1"], layout=layout).scope():
            model = conversion_cases.model(tf.keras)
        places = [weight.value.sharding for weight in model.weights]
        assert sum(not place.is_fully_replicated for place in places) == 3
        model.load_weights(str(CONVERSIONS / "keras2_adam" / "ckpt-1")).expect_partial()
        assert [weight.value.sharding for weight in model.weights] == places
        with np.load(CONVERSIONS / "keras2_adam" / "numbers.npz") as golden:
            predicted = np.asarray(model(conversion_cases.batches()[0], training=False))
            np.testing.assert_allclose(predicted, golden["predicted"], atol=1e-6)

    def test_another_model_stays_as_it_is(self):
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(5)])
        before = model.get_weights()
        with pytest.raises(errors.RestoreError, match="of another model; no weight was changed"):
            model.load_weights(CONVERSIONS / "keras2_adam" / "ckpt-1")
        for value, kept in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(value, kept)


def test_training_may_be_given_by_position():
    class Doubling(tf.keras.layers.Layer):
        def call(self, inputs, training=False, mask=None):
            return inputs * (2.0 if training else 1.0) + (0.0 if mask is None else 10.0)

    x = tf.constant([[1.0]])
    assert Doubling()(x, True).tolist() == [[2.0]]
    assert Doubling()(x, np.bool_(False), tf.constant([True])).tolist() == [[11.0]]
    assert Doubling()(x, mask=None).tolist() == [[1.0]]
    assert tf.keras.layers.Dropout(0.999999)(tf.ones([2]), True).tolist() == [0.0, 0.0]
    model = tf.keras.Sequential(
        [tf.keras.layers.Dense(1, kernel_initializer="ones"), tf.keras.layers.Dropout(0.999999)]
    )
    assert [model(x, training).tolist() for training in (True, False)] == [[[0.0]], [[1.0]]]
    assert tf.function(lambda x: Doubling()(x, True))(x).tolist() == [[2.0]]
    with pytest.raises(ValueError, match="Only input tensors may be passed as positional arguments"):
        Doubling()(x, "yes")


def small():
    return tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(2)])


def test_weights_that_were_saved_last_are_found_and_read(tmp_path):
    model, other = small(), small()
    model.compile("sgd", "mse")
    path = str(tmp_path / "new" / "cp-{epoch:04d}.ckpt")
    callback = tf.keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    model.fit(np.ones((4, 1)), np.ones((4, 2)), epochs=2, verbose=0, callbacks=[callback])
    latest = tf.train.latest_checkpoint(str(tmp_path / "new"))
    assert latest == str(tmp_path / "new" / "cp-0002.ckpt")
    status = other.load_weights(latest)
    assert status.expect_partial() is status.assert_consumed()
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
    model.save_weights(str(tmp_path / "newer" / "folder" / "weights"))
    assert tf.train.latest_checkpoint(str(tmp_path / "newer" / "folder")).endswith("weights")
    # A checkpoint is one, whatever lies beside it.
    saved = tf.train.Checkpoint(model=model).save(str(tmp_path / "new" / "ckpt"))
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == saved


def test_layers_weights_are_variables():
    layer = tf.keras.layers.BatchNormalization()
    layer.build((None, 2))
    assert all(isinstance(weight, tf.Variable) for weight in layer.weights)
    assert isinstance(tf.keras.optimizers.SGD().iterations, tf.Variable)
    assert not isinstance(tf.constant(1.0), tf.Variable)

    class Own(tf.Variable):
        """A program's own variables."""

    assert not isinstance(layer.gamma, Own)
    assert isinstance(Own(1.0), (Own, tf.Variable))


def test_sizes_of_layers_may_be_numpys_numbers():
    model = keras.Sequential(
        [
            keras.layers.Embedding(np.int64(5), np.int32(4)),
            keras.layers.Dense(units=np.int64(4)),
            keras.layers.GroupNormalization(np.int64(2)),
        ]
    )
    assert model(np.zeros((2, 3), np.int32)).shape == (2, 3, 4)
    found = model.layers[0].get_config()
    assert (found["input_dim"], found["output_dim"]) == (5, 4)
    assert keras.layers.MultiHeadAttention(np.int64(2), key_dim=np.int64(3)).get_config()["key_dim"] == 3
    assert keras.Sequential.from_config(model.get_config()).layers[1].units == 4


def test_a_weight_may_have_one_size_for_a_shape():
    class Scale(keras.layers.Layer):
        def build(self, input_shape):
            self.factors = self.add_weight(name="factors", shape=input_shape[-1], initializer="ones")

        def call(self, x):
            return x * self.factors

    layer = Scale()
    assert layer(np.ones((2, 3))).shape == (2, 3)
    assert layer.factors.shape == (3,)


def test_layers_say_what_they_were_called_with():
    first, second = tf.keras.Input((2,)), tf.keras.Input((2,))
    layer = tf.keras.layers.Dense(3, kernel_regularizer="l2")
    outputs = layer.apply(first), layer(second)
    joined = tf.keras.layers.Concatenate()
    joined(outputs)
    assert layer.get_input_at(0) is first
    assert layer.get_output_at(1) is outputs[1]
    assert layer.get_input_shape_at(1) == (None, 2)
    assert layer.get_output_shape_at(0) == (None, 3)
    assert [each is own for each, own in zip(joined.get_input_at(0), outputs, strict=True)] == [True, True]
    assert joined.get_input_shape_at(0) == [(None, 3)] * 2
    assert len(layer.get_losses_for(None)) == 1
    assert layer.updates == layer.get_updates_for(None) == []
    with pytest.raises(IndexError):
        layer.get_output_at(2)


def test_a_known_network_is_made_for_a_tensor_with_values():
    images = np.zeros((2, 32, 32, 3), np.float32)
    model = tf.keras.applications.MobileNet(
        input_tensor=tf.constant(images), alpha=0.25, weights=None, classes=3
    )
    assert model.input_shape == (None, 32, 32, 3)
    assert model(images).shape == (2, 3)
    other = tf.keras.Input((32, 32, 3))
    assert tf.keras.applications.MobileNet(input_tensor=other, alpha=0.25, weights=None).inputs[0] is other


def test_metrics_compare_rows_of_labels_with_columns():
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.Activation("sigmoid")(inputs))
    model.compile("sgd", "binary_crossentropy", metrics=["binary_crossentropy"])
    x, y = np.float32([[0.5], [-1.0], [2.0]]), np.float32([1, 0, 0])
    found = model.evaluate(x, y, batch_size=2, verbose=0, return_dict=True)
    p = 1 / (1 + np.exp(-x[:, 0]))
    expected = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    assert found["binary_crossentropy"] == pytest.approx(expected, rel=1e-5)
    assert found["loss"] == pytest.approx(expected, rel=1e-5)


def test_metrics_that_are_named_once_are_those_of_each_output():
    inputs = keras.Input((2,))
    outputs = [keras.layers.Dense(1, name=name)(inputs) for name in ("a", "b")]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse", metrics=["mae"])
    x = np.ones((4, 2), np.float32)
    history = model.fit(x, [np.zeros(4), np.ones(4)], verbose=0).history
    assert {"a_mae", "b_mae"} <= history.keys()


@pytest.mark.parametrize("devices", [["/cpu:0"], ["/cpu:0", "/cpu:1"]])
def test_an_optimizer_counts_its_updates_with_another_variable(devices):
    # The numbers are TensorFlow 2.15's.
    with tf.distribute.MirroredStrategy(devices).scope():
        step = tf.Variable(5, dtype=tf.int32)
        optimizer = tf.keras.optimizers.SGD(0.1)
        optimizer.iterations = step
        model = tf.keras.Sequential(
            [tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")]
        )
        model.compile(optimizer, "mse")
    assert optimizer.iterations is step
    model.fit(np.ones((16, 2), np.float32), np.zeros((16, 1), np.float32), batch_size=4, verbose=0)
    assert (int(step), int(optimizer.iterations)) == (9, 9)
    np.testing.assert_allclose(model.get_weights()[0].ravel(), [0.3504, 0.3504], atol=1e-6)
    with pytest.raises(errors.FailedPreconditionError, match="Cannot set `iterations`.*iterations=<Variable"):
        optimizer.iterations = tf.Variable(0)
    optimizer.iterations = 3
    assert int(step) == 3


def test_two_optimizers_count_together_and_a_schedule_goes_on_from_there():
    step, weight = tf.Variable(5, dtype=tf.int32), tf.Variable([1.0])
    for _ in range(2):
        rate = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)
        optimizer = tf.keras.optimizers.SGD(rate)
        optimizer.iterations = step
        optimizer.apply_gradients([(tf.constant([1.0]), weight)])
        assert [variable for variable in optimizer.variables if variable is step] == [step]
    assert int(step) == 7
    # TensorFlow 2.15's.
    np.testing.assert_allclose(weight.numpy(), [0.9953125], rtol=1e-6)


def test_the_global_step_of_an_estimator_counts_a_keras_optimizer(tmp_path):
    def inputs():
        return tf.data.Dataset.from_tensors((X[:4], 0 * Y[:4])).repeat()

    def model(features, labels, mode):
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        optimizer = tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5))
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(layer(features) - labels))
        gradients = tape.gradient(loss, layer.trainable_variables)
        train = optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    estimator = tf.estimator.Estimator(model, tmp_path)
    estimator.train(inputs, steps=3)
    estimator.train(inputs, max_steps=5)
    assert estimator.get_variable_value("global_step") == 5
    (kernel,) = (each for each in estimator.get_variable_names() if each.endswith("kernel"))
    # TensorFlow 2.15's.
    np.testing.assert_allclose(estimator.get_variable_value(kernel).ravel(), [0.4746, 0.4746], atol=1e-5)


@pytest.mark.parametrize("devices", [["/cpu:0"], ["/cpu:0", "/cpu:1"]])
@pytest.mark.parametrize(
    ("penalty", "weights", "losses", "errors_", "evaluated"),
    [
        (None, [0.86869, 0.87005], [0.4026, 0.35997], [0.56843, 0.53655], [0.27459, 0.44828]),
        (0.1, [0.80777, 0.81018], [0.58429, 0.48845], [0.55406, 0.50742], [0.38495, 0.42879]),
    ],
)
def test_steps_of_keras_2_have_the_loss_and_the_metrics_of_compile(
    devices, penalty, weights, losses, errors_, evaluated
):
    # The numbers are TensorFlow 2.15's, on one device and on two.
    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            penalties = penalty and tf.keras.regularizers.L2(penalty)
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_regularizer=penalties)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compiled_loss(y, y_pred, regularization_losses=self.losses)
            self.optimizer.minimize(loss, self.trainable_variables, tape=tape)
            self.compiled_metrics.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics}

        def test_step(self, data):
            x, y = data
            self.compiled_loss(y, self(x), regularization_losses=self.losses)
            self.compiled_metrics.update_state(y, self(x))
            return {metric.name: metric.result() for metric in self.metrics}

    with tf.distribute.MirroredStrategy(devices).scope():
        model = Own()
        model.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    x, y = np.arange(16, dtype=np.float32).reshape(8, 2) / 16, np.ones((8, 1), np.float32)
    history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0).history
    np.testing.assert_allclose(model.get_weights()[0].ravel(), weights, atol=1e-5)
    np.testing.assert_allclose([history["loss"], history["mae"]], [losses, errors_], atol=1e-5)
    found = model.evaluate(x, y, batch_size=4, verbose=0, return_dict=True)
    np.testing.assert_allclose([found["loss"], found["mae"]], evaluated, atol=1e-5)


def test_labels_are_given_to_to_categorical_by_their_old_name():
    found = tf.keras.utils.to_categorical(y=[0, 2], num_classes=3, dtype="int32")
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, [[1, 0, 0], [0, 0, 1]])


def test_a_cell_gives_states_of_a_dtype_and_those_of_inputs():
    cell = tf.keras.layers.LSTMCell(3)
    for state in (
        cell.get_initial_state(batch_size=2, dtype=tf.float16),
        cell.get_initial_state(inputs=tf.ones([2, 5], tf.float16)),
    ):
        assert [(part.shape, part.dtype) for part in state] == [((2, 3), np.float16)] * 2
    stacked = tf.keras.layers.StackedRNNCells([tf.keras.layers.GRUCell(2), tf.keras.layers.SimpleRNNCell(4)])
    states = keras.tree.flatten(stacked.get_initial_state(batch_size=3, dtype=tf.float32))
    assert [part.shape for part in states] == [(3, 2), (3, 4)]
    # Keras 3's own way, and what layers do.
    assert cell.get_initial_state(2)[0].shape == (2, 3)
    assert tf.keras.layers.RNN(cell)(tf.ones([2, 4, 5])).shape == (2, 3)


def test_labels_of_one_dimension_are_compared_with_all_outputs_of_their_row():
    # As Keras 2 does (7.5); labels of classes, and outputs of one number, mean what they did.
    layer = tf.keras.layers.Dense(10, kernel_initializer="zeros", input_shape=(2,))
    model = tf.keras.Sequential([layer])
    model.compile("sgd", "mse", metrics=["mae"])
    np.testing.assert_allclose(
        model.evaluate(np.ones((4, 2)), np.float32([1, 2, 3, 4]), verbose=0), [7.5, 2.5]
    )
    model = tf.keras.Sequential([layer])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    np.testing.assert_allclose(
        model.evaluate(np.ones((4, 2)), np.arange(4), verbose=0), np.log(10), rtol=1e-6
    )
    one = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    one.compile("sgd", "mse")
    assert one.evaluate(np.ones((4, 2)), np.float32([1, 2, 3, 4]), verbose=0) == 7.5


def test_a_model_keeps_a_method_called_loss_until_it_is_compiled_with_one():
    class Own(tf.keras.Model):
        def loss(self, x):
            return tf.reduce_sum(x)

        def call(self, x):
            return x * 2

    model = Own()
    assert float(model.loss(tf.ones([3]))) == 3
    assert tf.keras.Sequential([]).loss is None
    model.compile("sgd", "mse")
    assert model.loss == "mse"


def test_a_sequential_takes_a_dict_with_its_input():
    layer = tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,), name="only")
    model = tf.keras.Sequential([layer])
    assert float(model({"only_input": tf.ones([1, 2])})[0, 0]) == 2
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors(({"only_input": X}, Y))
    assert model.evaluate(data, verbose=0) == 1
    # One whose first layer takes the dict gets it.
    taking = tf.keras.Sequential([tf.keras.layers.Lambda(lambda features: features["a"] + 1)])
    assert float(taking({"a": tf.ones([1])})[0]) == 2


@pytest.mark.parametrize("name", ["build", "compute_output_shape"])
def test_layers_of_programs_are_given_shapes_with_tensorflows_methods(name):
    seen = []

    class Two(tf.keras.layers.Layer):
        def build(self, input_shape):
            first, second = input_shape
            seen.append((first.as_list(), second.as_list()))
            self.kernel = self.add_weight(shape=(first[-1], second[-1]))
            super().build(input_shape)

        def call(self, inputs):
            return tf.matmul(inputs[0], self.kernel)

        def compute_output_shape(self, input_shape):
            return tf.TensorShape([*input_shape[0].as_list()[:-1], input_shape[1].as_list()[-1]])

    class Named(tf.keras.layers.Layer):
        def build(self, input_shape):
            seen.append(input_shape["a"].as_list())

        def call(self, inputs):
            return inputs["a"]

    layer = Two()
    if name == "build":
        assert layer([tf.ones([2, 3]), tf.ones([2, 5])]).shape == (2, 5)
        assert Named()({"a": tf.ones([2, 3])}).shape == (2, 3)
        assert seen == [([2, 3], [2, 5]), [2, 3]]
    else:
        assert tuple(layer.compute_output_shape([(2, 3), (2, 5)])) == (2, 5)


def test_a_model_of_layers_that_see_shapes_is_saved_and_loaded(tmp_path):
    @keras.saving.register_keras_serializable("tests")
    class Scaled(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(shape=input_shape.as_list()[1:], initializer="ones")

        def call(self, inputs):
            return inputs * self.scale

    model = tf.keras.Sequential([tf.keras.layers.Input((2,)), Scaled()])
    model.save(tmp_path / "model.keras")
    loaded = tf.keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(X), X)


def test_files_are_found_by_their_paths(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("some words")
    found = tf.keras.utils.get_file(str(path), "http://localhost:1/words.txt")
    assert pathlib.Path(found) == path
    inside = tf.keras.utils.get_file("below/words.txt", path.as_uri(), cache_dir=str(tmp_path))
    assert pathlib.Path(inside) == tmp_path / "datasets" / "below" / "words.txt"


@pytest.mark.parametrize(
    ("loss", "of_one", "of_rows"),
    [
        # As TensorFlow 2.15 gives them.
        ("BinaryCrossentropy", 0.92154, 0.8770294),
        ("BinaryFocalCrossentropy", 0.404, 0.4794359),
        ("Hinge", 0.9, 0.8166667),
        ("SquaredHinge", 0.89, 0.945),
        ("Poisson", 1.1026484, 1.1225101),
        ("KLDivergence", 0.8026481, 1.2783531),
    ],
)
def test_losses_repeat_what_has_sizes_of_1(loss, of_one, of_rows):
    labels, outputs = np.float32([0, 1, 1]), np.float32([[0.2, 0.7], [0.4, 0.9], [0.6, 0.1]])
    measure = getattr(keras.losses, loss)()
    assert float(measure(labels[:, None], np.float32([[0.3]]))) == pytest.approx(of_one, rel=1e-4)
    # Labels in a row are those of rows, each with all of it.
    assert float(measure(labels, outputs)) == pytest.approx(of_rows, rel=1e-4)
    assert float(measure(labels[:, None], outputs)) == pytest.approx(of_rows, rel=1e-4)


def test_shapes_of_a_crossentropy_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="must have the same shape"):
        keras.losses.BinaryCrossentropy()(np.ones((3, 2), np.float32), np.full((3, 3), 0.5, np.float32))
    with pytest.raises(ValueError, match="must have the same shape"):
        keras.losses.BinaryCrossentropy(from_logits=True)(np.ones((3, 1)), np.ones((1, 1), np.float32))


def test_no_gradients_are_no_step():
    optimizer = tf.keras.optimizers.Adam()
    assert int(optimizer.apply_gradients([])) == 0
    variable = tf.Variable([1.0])
    optimizer.apply_gradients(zip([tf.constant([2.0])], [variable], strict=True))
    optimizer.apply_gradients(zip([], [], strict=True))
    assert int(optimizer.iterations) == 1


def test_models_have_the_names_of_their_inputs():
    first, second = (tf.keras.Input((2,), name=name) for name in ("b", "a"))
    model = tf.keras.Model([first, second], tf.keras.layers.Add()([first, second]))
    assert model.input_names == ["b", "a"]
    assert tf.keras.Model({"x": first}, first + 1).input_names == ["b"]
    chain = tf.keras.Sequential([tf.keras.Input((2,), name="only"), tf.keras.layers.Dense(1)])
    assert chain.input_names == ["only"]
    assert not hasattr(tf.keras.Sequential([tf.keras.layers.Dense(1)]), "input_names")
    chain.input_names = ["own"]
    assert chain.input_names == ["own"]
