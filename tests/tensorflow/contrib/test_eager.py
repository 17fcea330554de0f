"""Programs of TensorFlow 1 that compute at once: `tf.contrib.eager`, with optimizers and layers of TensorFlow 1."""

import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.tensorflow import v1

tfe = tf.contrib.eager
train = v1.train

# What TensorFlow 1.15 gives behind three steps.
STEPS = {
    "gradient descent": (
        lambda: train.GradientDescentOptimizer(0.1),
        [0.15199999511241913, -0.47600018978118896, 0.42800000309944153],
    ),
    "momentum": (
        lambda: train.MomentumOptimizer(0.1, 0.9),
        [-0.6669999957084656, -1.916000247001648, -0.1120000034570694],
    ),
    "Adam": (
        lambda: train.AdamOptimizer(0.1),
        [0.7000067234039307, -1.7107534408569336, 0.7948065996170044],
    ),
    "RMSProp": (
        lambda: train.RMSPropOptimizer(0.1, momentum=0.5),
        [0.14664879441261292, -0.8023883104324341, 1.4792412519454956],
    ),
    "AdamW": (
        lambda: tf.contrib.opt.AdamWOptimizer(0.05, learning_rate=0.1),
        [0.5727338790893555, -1.4383355379104614, 0.710230827331543],
    ),
}


def model():
    w, b = tfe.Variable([1.0, -2.0]), tfe.Variable(0.5)
    return w, b, lambda x: tf.reduce_sum(tf.square(w * x + b))


def inputs():
    return [np.float32([1, 2 + step]) for step in range(3)]


@pytest.mark.parametrize("name", STEPS)
def test_optimizers_change_variables_at_once(name):
    make, wanted = STEPS[name]
    (w, b, loss), optimizer = model(), make()
    gradients, step = tfe.implicit_gradients(loss), tf.Variable(0)
    for x in inputs():
        assert optimizer.apply_gradients(gradients(x), step) is None
    np.testing.assert_allclose(np.append(w.numpy(), b.numpy()), wanted, rtol=1e-5)
    assert int(step) == 3


def test_an_optimizer_minimizes_a_function():
    (w, b, loss), optimizer = model(), train.GradientDescentOptimizer(0.1)
    for x in inputs():
        optimizer.minimize(lambda x=x: loss(x))
    np.testing.assert_allclose(np.append(w.numpy(), b.numpy()), STEPS["gradient descent"][1], rtol=1e-5)
    with pytest.raises(errors.BadArgumentError, match="should be a function"):
        optimizer.minimize(loss(inputs()[0]))


def test_a_compiled_function_applies_gradients():
    (w, b, loss), optimizer = model(), train.AdamOptimizer(0.1)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            value = loss(x)
        optimizer.apply_gradients(zip(tape.gradient(value, [w, b]), [w, b], strict=True))

    for x in inputs():
        step(x)
    np.testing.assert_allclose(np.append(w.numpy(), b.numpy()), STEPS["Adam"][1], rtol=1e-5)
    assert optimizer.get_slot(w, "m").shape == (2,)


def test_replicas_apply_the_sum_of_their_gradients():
    strategy = sx.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        w, optimizer = tf.Variable([1.0, -2.0]), train.MomentumOptimizer(0.1, 0.9)

    @tf.function
    def step(x):
        def replica(x):
            with tf.GradientTape() as tape:
                value = tf.reduce_sum(w * x)
            optimizer.apply_gradients([(tape.gradient(value, w), w)])

        strategy.run(replica, (x,))

    for _ in range(2):
        step(np.float32([1, 2]))
    # Gradients of (2, 4): 0.1 of them, then 0.19.
    np.testing.assert_allclose(w.numpy(), [1 - 0.58, -2 - 1.16], rtol=1e-6)


def test_layers_of_tensorflow_1_have_variables_of_their_own():
    class Net(tfe.Network):
        def __init__(self):
            super().__init__()
            ones = v1.ones_initializer()
            self.first = self.track_layer(v1.layers.Dense(3, activation=tf.nn.relu, kernel_initializer=ones))
            self.last = self.track_layer(v1.layers.Dense(1, use_bias=False, kernel_initializer=ones))

        def call(self, x):
            return self.last(self.first(x))

    net = Net()
    assert float(net(np.float32([[1, 2]]))[0, 0]) == 9
    assert [tuple(each.shape) for each in net.trainable_variables] == [(2, 3), (3,), (3, 1)]
    pairs = tfe.implicit_gradients(lambda x: tf.reduce_sum(net(x)))(np.float32([[1, 2]]))
    assert len(pairs) == 3


def test_gradients_of_arguments():
    def f(x, y):
        return x * x * y

    assert [float(each) for each in tfe.gradients_function(f)(3.0, 2.0)] == [12, 9]
    assert [float(each) for each in tfe.gradients_function(f, params=["y"])(3.0, 2.0)] == [9]
    value, (gradient,) = tfe.value_and_gradients_function(lambda x: x * x, [0])(3.0, dy=2.0)
    assert (float(value), float(gradient)) == (9, 12)
    with pytest.raises(errors.BadArgumentError, match="names of arguments, which are x, y"):
        tfe.gradients_function(f, ["z"])
    with pytest.raises(errors.BadArgumentError, match="No trainable variables"):
        tfe.implicit_gradients(lambda: tf.constant(1.0))()


def test_a_dataset_gives_one_element_after_the_other():
    elements = tfe.Iterator(tf.data.Dataset.range(4))
    assert [int(elements.next()), int(elements.get_next()), *map(int, elements)] == [0, 1, 2, 3]
    with pytest.raises(errors.StrataxError):
        elements.get_next()


def test_metrics_are_called_with_batches():
    mean = tfe.metrics.Mean()
    assert mean([1.0, 2.0], weights=[1.0, 3.0]) == [1.0, 2.0]
    mean(5.0)
    np.testing.assert_allclose(mean.result(), 2.4, rtol=1e-6)
    mean.init_variables()
    mean(1.0)
    assert float(mean.result()) == 1
    scores = [[0.1, 0.9], [0.2, 0.8]]
    for metric, batch, value in [
        (tfe.metrics.Accuracy(), ([1, 2, 3], [1, 0, 3]), 2 / 3),
        (tfe.metrics.SparseAccuracy(), ([1, 0], scores), 1 / 2),
        (tfe.metrics.CategoricalAccuracy(), ([[0, 1], [1, 0]], scores), 1 / 2),
        (tfe.metrics.BinaryAccuracy(0.5), ([1, 0, 1], [0.6, 0.7, 0.2]), 1 / 3),
    ]:
        metric(*batch)
        np.testing.assert_allclose(metric.result(), value, rtol=1e-6)
    with pytest.raises(errors.BadArgumentError, match="are unequal"):
        tfe.metrics.Accuracy()([1, 2], [1])


def test_variables_are_saved_and_restored(tmp_path):
    w = tf.Variable([1.0, 2.0], name="w")
    saver = tfe.Saver([w])
    path = saver.save(str(tmp_path / "ckpt"))
    w.assign([5.0, 6.0])
    saver.restore(path)
    assert w.numpy().tolist() == [1, 2]


def test_devices_have_tensorflows_names():
    assert tfe.list_devices()[0] == "/job:localhost/replica:0/task:0/device:CPU:0"
    assert tfe.num_gpus() == 0
    assert tfe.in_eager_mode()
