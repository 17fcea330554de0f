"""Models that take text: saved, loaded, exported, served, and what they refuse."""

import keras
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from tests.command.serving.serving import predict, serving

layers = tf.keras.layers
X = {
    "word": np.array([["red"], ["Blue sea"], ["green"], [""], ["sea red"]], object),
    "count": np.array([[3], [4], [5], [6], [7]]),
}


@tf.keras.utils.register_keras_serializable("tests")
def lower(texts):
    return tf.strings.lower(texts)


def parts_of(word, count):
    """Each kind of layer that makes numbers of text."""
    bags = layers.TextVectorization(output_mode="tf_idf", ngrams=2)
    bags.adapt(["red sea", "blue sea", "red"])
    ids = layers.TextVectorization(output_sequence_length=3, split="character")
    ids.adapt(["red sea", "blue sea", "red"])
    lookup = layers.StringLookup()
    lookup.adapt(np.array(["red", "red", "green"], object))
    return [
        layers.StringLookup(vocabulary=["red", "green"], output_mode="one_hot")(word),
        layers.StringLookup(vocabulary=["red"], num_oov_indices=3, mask_token="", output_mode="count")(word),
        layers.StringLookup(vocabulary=["red"], num_oov_indices=3, salt=[1, 2], output_mode="one_hot")(word),
        layers.CategoryEncoding(lookup.vocabulary_size(), "one_hot")(lookup(word)),
        layers.IntegerLookup(vocabulary=[3, 5], output_mode="multi_hot")(count),
        layers.IntegerLookup(vocabulary=[3], num_oov_indices=2, output_mode="one_hot")(count),
        layers.Hashing(5, output_mode="one_hot")(word),
        layers.Hashing(5, output_mode="one_hot", mask_value="red", salt=3)(word),
        layers.Hashing(5, output_mode="one_hot")(count),
        layers.HashedCrossing(6, output_mode="one_hot")((word, count)),
        bags(word),
        layers.GlobalAveragePooling1D()(layers.Embedding(12, 2)(ids(word))),
        tf.cast(tf.strings.length(layers.Lambda(lower)(word)), "float32"),
    ]


@pytest.fixture(scope="module")
def model():
    word = tf.keras.Input((1,), dtype=tf.string, name="word")
    count = tf.keras.Input((1,), dtype="int64", name="count")
    return tf.keras.Model({"word": word, "count": count}, layers.Concatenate()(parts_of(word, count)))


@pytest.fixture(scope="module")
def expected(model):
    return np.asarray(model({name: tf.constant(each) for name, each in X.items()}))


def test_values_and_batches_give_the_same(model, expected):
    np.testing.assert_allclose(model.predict(X, verbose=0, batch_size=2), expected, rtol=1e-6)


def test_a_saved_model_is_loaded_with_its_vocabularies(model, expected, tmp_path):
    model.save(tmp_path / "m.keras")
    loaded = tf.keras.models.load_model(tmp_path / "m.keras")
    np.testing.assert_allclose(loaded.predict(X, verbose=0), expected, rtol=1e-6)
    copy = tf.keras.models.clone_model(model)
    model.save_weights(tmp_path / "m.weights.h5")
    copy.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_allclose(copy.predict(X, verbose=0), expected, rtol=1e-6)


def test_files_name_layers_as_keras_does(model):
    named = {each["class_name"]: each["module"] for each in model.get_config()["layers"]}
    for name in ("StringLookup", "IntegerLookup", "Hashing", "HashedCrossing", "TextVectorization"):
        assert named[name] == "keras.layers"
        assert isinstance(getattr(layers, name), type)
        assert issubclass(getattr(layers, name), getattr(keras.layers, name))


def test_an_export_gives_the_same_and_is_served(model, expected, tmp_path):
    model.export(tmp_path / "1", verbose=False)
    loaded = tf.saved_model.load(tmp_path / "1")
    (found,) = loaded.signatures["serving_default"](
        **{name: tf.constant(each) for name, each in X.items()}
    ).values()
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with serving(tmp_path) as server:
        rows = [
            {"word": [str(word)], "count": [int(count)]}
            for (word,), (count,) in zip(X["word"].tolist(), X["count"].tolist(), strict=True)
        ]
        status, answer = predict(server, {"instances": rows})
    assert status == 200, answer
    np.testing.assert_allclose(answer["predictions"], expected, rtol=1e-5, atol=1e-6)


def test_an_export_needs_a_length_of_sequences(tmp_path):
    layer = layers.TextVectorization(vocabulary=["a"])
    model = tf.keras.Sequential([tf.keras.Input((1,), dtype="string"), layer, layers.Embedding(3, 2)])
    with pytest.raises(errors.BadTypeError, match="output_sequence_length"):
        model.export(tmp_path / "m", verbose=False)


def test_text_beside_what_a_step_computes_is_compared_in_the_step():
    class Same(layers.Layer):
        def call(self, inputs):
            text, number = inputs
            return tf.cast(tf.equal(text, tf.strings.as_string(number + 1)), tf.float32)

        def compute_output_shape(self, input_shape):
            return input_shape[0]

    text, number = tf.keras.Input((1,), dtype="string"), tf.keras.Input((1,), dtype="int32")
    model = tf.keras.Model([text, number], Same()([text, number]))
    x = [np.array([["2"], ["5"], ["4"]]), np.array([[1], [2], [3]])]
    assert model.predict(x, verbose=0, batch_size=2).ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda word: layers.TextVectorization(vocabulary=["a"], ragged=True)(word), "ragged=False"),
        (lambda word: layers.IntegerLookup(vocabulary=[1])(word), "dtype='int64'"),
        (lambda word: layers.TextVectorization(vocabulary=["a"])(tf.keras.Input((1,))), "dtype='string'"),
    ],
)
def test_what_can_be_no_part_of_a_model_is_refused(make, message):
    def predicted():
        word = tf.keras.Input((1,), dtype="string")
        return tf.keras.Model(word, make(word)).predict(np.array([["a"]]), verbose=0)

    with pytest.raises(errors.BadTypeError, match=message):
        predicted()
