"""Models keep what they were compiled to train, and share an optimizer, as in Keras 2.

The expected losses are those of the same lines with TensorFlow 2.15 and its `tf.keras.optimizers.legacy`.
"""

import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf

legacy = tf.keras.optimizers.legacy
REAL = np.arange(24).reshape(8, 3).astype("float32") / 10
NOISE = np.arange(16).reshape(8, 2).astype("float32") / 10
ONES = np.ones((8, 1), "float32")


def dense(units, **options):
    return tf.keras.layers.Dense(units, kernel_initializer=keras.initializers.Constant(0.1), **options)


def networks():
    discriminator = tf.keras.Sequential([tf.keras.Input(3), dense(4, activation="tanh"), dense(1)])
    return discriminator, tf.keras.Sequential([tf.keras.Input(2), dense(3)])


def gan(optimizer, other=None):
    """Make a discriminator, and the model of both networks that trains the generator alone."""
    discriminator, generator = networks()
    discriminator.compile(loss="mse", optimizer=optimizer)
    discriminator.trainable = False
    noise = tf.keras.Input((2,))
    both = tf.keras.Model(noise, discriminator(generator(noise)))
    both.compile(loss="mse", optimizer=other or optimizer)
    return discriminator, both


def fitted(model, x, y, epochs=2):
    return model.fit(x, y, epochs=epochs, batch_size=4, verbose=0, shuffle=False).history["loss"]


@pytest.mark.parametrize(
    ("make", "losses"),
    [
        (
            lambda: legacy.SGD(0.05, momentum=0.9),
            [0.126681, 0.047875, 0.454188, 0.441535, 0.047184],
        ),
        (
            lambda: legacy.Nadam(0.01),
            [0.129078, 0.092146, 0.846865, 0.825765, 0.067036],
        ),
        (
            lambda: legacy.Adam(0.01, amsgrad=True),
            [0.129805, 0.087044, 0.817685, 0.804290, 0.056391],
        ),
        (
            lambda: legacy.SGD(0.05, momentum=0.9, clipnorm=0.1),
            [0.139785, 0.113427, 0.844317, 0.837476, 0.074041],
        ),
    ],
)
@pytest.mark.parametrize("replicas", [0, 2])
def test_networks_of_a_gan_train_with_one_optimizer(make, losses, replicas):
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(replicas or 1)])
    if replicas:
        with strategy.scope():
            optimizer = make()
            discriminator, both = gan(optimizer)
    else:
        optimizer = make()
        discriminator, both = gan(optimizer)
    found = fitted(discriminator, REAL, ONES / 2) + fitted(both, NOISE, ONES)
    found += fitted(discriminator, REAL, ONES / 2, epochs=1)
    np.testing.assert_allclose(found, losses, atol=3e-5)
    assert int(optimizer.iterations) == 10
    # As the program has left it.
    assert discriminator.trainable_weights == []
    assert len(both.trainable_weights) == 2


def test_a_network_is_trained_that_was_frozen_behind_compile():
    discriminator, both = gan(legacy.RMSprop(0.01), legacy.RMSprop(0.01))
    x, noise, ones = REAL[:4], NOISE[:4], ONES[:4]
    found = []
    for _ in range(3):
        found.append(discriminator.train_on_batch(x, ones / 2))
        before = discriminator.get_weights()
        both.train_on_batch(noise, ones)
        for old, new in zip(before, discriminator.get_weights(), strict=True):
            np.testing.assert_array_equal(old, new)
    assert found[0] > found[1] > found[2]
    # Compiled anew, it is not trained.
    discriminator.compile(loss="mse", optimizer="sgd")
    first = discriminator.train_on_batch(x, ones / 2)
    assert discriminator.train_on_batch(x, ones / 2) == first


def test_variables_of_two_models_have_the_slots_of_their_optimizer():
    optimizer = legacy.SGD(0.05, momentum=0.9)
    discriminator, generator = networks()
    noise = tf.keras.Input((2,))
    both = tf.keras.Model(noise, discriminator(generator(noise)))
    for model in (discriminator, both):
        model.compile(loss="mse", optimizer=optimizer)
    found = []
    for _ in range(3):
        found += [discriminator.train_on_batch(REAL, ONES / 2), both.train_on_batch(NOISE, ONES)]
    expected = [0.143649, 0.885357, 0.033982, 0.432158, 0.076133, 0.086309]
    np.testing.assert_allclose(found, expected, atol=3e-5)


def test_a_layer_that_is_thawed_goes_on_with_the_optimizer():
    optimizer = legacy.SGD(0.05, momentum=0.9)
    model, _ = networks()
    model.layers[0].trainable = False
    model.compile(loss="mse", optimizer=optimizer)
    found = fitted(model, REAL, ONES / 2, epochs=1)
    model.layers[0].trainable = True
    model.compile(loss="mse", optimizer=optimizer)
    found += fitted(model, REAL, ONES / 2)
    np.testing.assert_allclose(found, [0.127919, 0.050877, 0.037510], atol=3e-5)


@pytest.mark.parametrize("compile", [tf.function, lambda step: step])
def test_a_loop_trains_two_networks_with_one_optimizer(compile):
    optimizer = legacy.SGD(0.05, momentum=0.9)
    discriminator, generator = networks()

    def step(real, noise):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((discriminator(real) - 0.5) ** 2)
        variables = discriminator.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        with tf.GradientTape() as tape:
            other = tf.reduce_mean((discriminator(generator(noise)) - 1.0) ** 2)
        variables = generator.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(other, variables), variables, strict=True))
        return loss, other

    train = compile(step)
    found = [[float(loss) for loss in train(REAL, NOISE)] for _ in range(3)]
    expected = [[0.143649, 0.885357], [0.106700, 0.750467], [0.056518, 0.593103]]
    np.testing.assert_allclose(found, expected, atol=3e-5)


def test_moving_averages_are_of_the_variables_that_an_optimizer_was_built_for():
    optimizer = legacy.SGD(0.05, use_ema=True)
    first, second = keras.Variable(1.0), keras.Variable(1.0)
    optimizer.apply([np.float32(1.0)], [first])
    with pytest.raises(ValueError, match="Unknown variable"):
        optimizer.apply([np.float32(1.0)], [second])


def test_networks_are_saved_and_loaded(tmp_path):
    discriminator, both = gan(legacy.Adam(0.01))
    for _ in range(2):
        discriminator.train_on_batch(REAL, ONES / 2)
        both.train_on_batch(NOISE, ONES)
    discriminator.trainable = True
    discriminator.save(str(tmp_path / "model.keras"))
    loaded = tf.keras.models.load_model(str(tmp_path / "model.keras"))
    for old, new in zip(discriminator.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    both.save_weights(str(tmp_path / "both.weights.h5"))
    both.load_weights(str(tmp_path / "both.weights.h5"))
