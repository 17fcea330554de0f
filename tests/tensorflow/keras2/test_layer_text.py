"""Models whose inputs are text, and layers that make text of numbers, which hash it or look it up."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadTypeError

WORDS = np.array(["b", "a", "c", "b"], object)


class Buckets(tf.keras.layers.Layer):
    """Hashes text, or numbers as text; zeros stay."""

    def call(self, x):
        zero = tf.as_string(tf.zeros([1], dtype="int32" if x.dtype == tf.string else x.dtype))
        text = tf.as_string(x)
        hashes = tf.strings.to_hash_bucket_fast(text, 9) + 1
        return hashes * tf.cast(tf.not_equal(text, zero), hashes.dtype)


class Found(tf.keras.layers.Layer):
    """Looks text up, and has a shape of its own to tell."""

    def __init__(self):
        super().__init__()
        keys = tf.constant(["a", "b"])
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, tf.constant([5, 6], tf.int64)), -1
        )

    def call(self, x):
        return self.table.lookup(tf.strings.lower(x))

    def compute_output_shape(self, input_shape):
        return input_shape


def made(layer, dtype):
    inputs = tf.keras.Input((1,), dtype=dtype, name="word")
    return tf.keras.Model(inputs, layer(inputs))


def hashes(texts):
    return np.asarray(tf.strings.to_hash_bucket_fast([str(each) for each in texts], 9)) + 1


def test_text_is_hashed_in_a_compiled_step():
    model = made(Buckets(), "string")
    assert model.predict(WORDS[:, None], verbose=0)[:, 0].tolist() == hashes(WORDS).tolist()
    # Text that the model has not seen before; a row is a column of one.
    assert model.predict({"word": np.array(["d", "0"])}, verbose=0)[:, 0].tolist() == [*hashes("d"), 0]
    assert np.asarray(model(np.array([["a"]])))[:, 0].tolist() == hashes("a").tolist()


def test_numbers_are_hashed_as_text():
    model = made(Buckets(), "int32")
    assert model.predict(np.int32([[3], [0], [12]]), verbose=0)[:, 0].tolist() == [
        *hashes([3]),
        0,
        *hashes([12]),
    ]


def test_a_table_finds_numbers_of_text():
    model = made(Found(), "string")
    assert model.predict(np.array([["A"], ["x"], ["b"]]), verbose=0)[:, 0].tolist() == [5, -1, 6]


def test_a_model_of_words_is_trained():
    word, number = tf.keras.Input((1,), dtype="string", name="word"), tf.keras.Input((2,), name="number")
    rows = tf.keras.layers.Embedding(10, 3)(Buckets()(word))
    outputs = tf.keras.layers.Dense(1)(
        tf.keras.layers.Concatenate()([tf.keras.layers.Flatten()(rows), number])
    )
    model = tf.keras.Model([word, number], outputs)
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    x = {"word": WORDS, "number": np.ones((4, 2), np.float32)}
    y = np.float32([1, 0, 0, 1])
    losses = model.fit(x, y, epochs=30, verbose=0, validation_data=(x, y)).history
    assert losses["loss"][-1] < 0.1 * losses["loss"][0]
    assert losses["val_loss"][-1] == pytest.approx(losses["loss"][-1], rel=0.5)
    assert model.evaluate(x, y, verbose=0) == pytest.approx(losses["val_loss"][-1], rel=1e-4)
    listed = model.predict([WORDS, x["number"]], verbose=0)
    np.testing.assert_allclose(listed, model.predict(x, verbose=0), rtol=1e-6)


def test_replicas_make_of_text_what_one_does():
    def train(model):
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        history = model.fit(
            WORDS[:, None], np.float32([1, 0, 0, 1]), batch_size=4, epochs=2, shuffle=False, verbose=0
        )
        return history.history["loss"], model.predict(WORDS[:, None], verbose=0)

    def words():
        inputs = tf.keras.Input((1,), dtype="string")
        rows = tf.keras.layers.Embedding(10, 2, embeddings_initializer="ones")(Buckets()(inputs))
        return tf.keras.Model(
            inputs, tf.keras.layers.Dense(1, kernel_initializer="ones")(tf.keras.layers.Flatten()(rows))
        )

    one = train(words())
    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        two = words()
    for found, expected in zip(train(two), one, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_text_that_stays_text_is_refused():
    class Shown(tf.keras.layers.Layer):
        def call(self, x):
            return tf.keras.ops.multiply(tf.as_string(x), 2)

    with pytest.raises(BadTypeError, match="becomes a number before the layer returns it"):
        made(Shown(), "int32")


def test_text_is_predicted_of_text_and_of_numbers():
    classes = tf.keras.layers.StringLookup(vocabulary=["bad", "good"], num_oov_indices=0, invert=True)

    class Named(tf.keras.Model):
        def call(self, x):
            number = tf.strings.length(x)[:, 0] % 2
            return {"upper": tf.strings.upper(x), "name": classes(number), "number": number}

    model = Named()
    texts = np.array([["a"], ["bc"], ["def"], ["g"], ["hi"]], object)
    found = model.predict(texts, batch_size=2, verbose=0)
    assert found["upper"].ravel().tolist() == [b"A", b"BC", b"DEF", b"G", b"HI"]
    assert found["name"].tolist() == [b"good", b"bad", b"good", b"good", b"bad"]
    assert found["number"].tolist() == [1, 0, 1, 1, 0]
    assert model.predict_on_batch(texts[:1])["name"].tolist() == [b"good"]
    with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
        model = Named()
    assert model.predict(texts, batch_size=4, verbose=0)["upper"].ravel().tolist() == [
        *(b"A", b"BC", b"DEF", b"G", b"HI")
    ]
