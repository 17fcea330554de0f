"""Models with a `call` that takes text, which is known only when they are traced."""

import keras
import numpy as np

layers = keras.layers
TEXTS = np.array([["red blue"], ["green grey"], ["red red"], ["blue"]], object)
Y = np.random.default_rng(4).normal(size=(48, 1)).astype("float32")


class Sentences(keras.Model):
    """A model with a `call`, which learns of text only there."""

    def __init__(self):
        super().__init__()
        self.vectorize = layers.TextVectorization()
        self.vectorize.adapt(TEXTS)
        self.embed = layers.Embedding(10, 4)
        self.out = layers.Dense(1)

    def call(self, inputs):
        return self.out(keras.ops.mean(self.embed(self.vectorize(inputs)), axis=1))


def test_a_model_with_a_call_is_built_and_trained_of_text():
    texts = np.array(["red", "red blue", "green green green", "grey"] * 4, object)
    model = Sentences()
    model.compile("sgd", "mse")
    # Two texts at a time: rows of several lengths.
    losses = model.fit(texts, Y[:16], batch_size=2, epochs=3, verbose=0, shuffle=False).history["loss"]
    assert losses[2] < losses[0]
    np.testing.assert_allclose(model.predict(texts[:1], verbose=0), model(texts[:1]), rtol=1e-5)
