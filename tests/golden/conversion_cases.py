"""A model of Keras that is trained a little, for the Keras of TensorFlow 2.15, of TensorFlow 2.21, and of Stratax."""

import numpy as np

STEPS = 3
LAYERS = {"first": (4, 3), "last": (3, 2)}


def model(keras):
    """Return a model with a state of its own, layers without variables, and one that is reached twice."""
    layers = keras.layers
    inputs = layers.Input((4,))
    shared = layers.Dense(3, "tanh", name="shared")
    hidden = layers.BatchNormalization(name="norm")(shared(layers.Dense(4, name="first")(inputs)))
    hidden = layers.Concatenate()([hidden, layers.Dropout(0.25)(shared(inputs))])
    return keras.Model(inputs, layers.Dense(2, name="last")(hidden))


def plain_model(keras):
    """Return the model of `LAYERS`, under the names of TensorFlow 1's variables."""
    first, last = LAYERS
    layers = [keras.layers.Dense(3, "tanh", name=first), keras.layers.Dense(2, name=last)]
    return keras.Sequential([keras.layers.Input((4,)), *layers], name="net")


def batches():
    """Return inputs and targets."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(12, 4)).astype("float32"), rng.normal(size=(12, 2)).astype("float32")


def trained(keras, optimizer):
    """Return the model after some steps."""
    keras.utils.set_random_seed(7)
    made = model(keras)
    made.compile(optimizer, "mse")
    for _ in range(STEPS):
        made.train_on_batch(*batches())
    return made


def step(tf, model):
    """Apply the model's optimizer once more, without dropout."""
    inputs, targets = batches()
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(inputs, training=False) - targets) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    model.optimizer.apply_gradients(list(zip(gradients, model.trainable_variables, strict=True)))
