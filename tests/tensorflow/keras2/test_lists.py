"""What Keras 2 takes in the place of arrays and of tuples."""

import numpy as np

import stratax.tf as tf

X = np.arange(20, dtype=np.float32).reshape(10, 2) / 10
Y = np.arange(10, dtype=np.float32).reshape(10, 1) / 5


def a_model():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1, kernel_initializer="ones")])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")
    return model


def test_lists_of_numbers_are_arrays():
    model, other = a_model(), a_model()
    settings = {"batch_size": 4, "shuffle": False, "verbose": 0}
    history = model.fit(X.tolist(), Y.tolist(), validation_split=0.2, **settings).history
    assert history == other.fit(X, Y, validation_split=0.2, **settings).history
    assert model.evaluate(X.tolist(), y=Y.tolist(), verbose=0) == other.evaluate(X, Y, verbose=0)
    np.testing.assert_array_equal(model.predict(X.tolist(), verbose=0), other.predict(X, verbose=0))


def test_a_generator_may_give_features_alone_and_lists():
    model = a_model()

    def features():
        for row in range(0, 10, 2):
            yield X[row : row + 2]

    assert model.predict(features(), steps=3, verbose=0).shape == (6, 1)
    history = model.fit(([x, x[:, :1]] for x in features()), validation_data=(X, Y), verbose=0).history
    assert len(history["val_loss"]) == 1
