"""`keras_to_tpu_model` gives the same model, whose training follows a strategy."""

import numpy as np

import stratax as sx
import stratax.tf as tf


def test_a_model_is_made_anew_under_a_strategy():
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    strategy = sx.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    made = tf.contrib.tpu.keras_to_tpu_model(model, strategy)
    x, y = np.ones((4, 2), np.float32), np.zeros((4, 1), np.float32)
    assert made.predict(x, verbose=0).tolist() == model.predict(x, verbose=0).tolist()
    for each in (model, made):
        each.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for one, two in zip(model.get_weights(), made.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)
