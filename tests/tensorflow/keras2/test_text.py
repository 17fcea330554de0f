"""Layers and functions of text."""

import numpy as np

import stratax.tf as tf

layers = tf.keras.layers


def test_text_is_made_numbers_in_a_pipeline():
    texts = np.array(["good film", "bad, bad film"])
    data = tf.data.Dataset.from_tensor_slices((texts, [1, 0])).batch(2)
    layer = layers.TextVectorization(output_sequence_length=4)
    layer.adapt(data.map(lambda text, label: text))
    assert layer.get_vocabulary() == ["", "[UNK]", "film", "bad", "good"]
    ((ids, labels),) = list(data.map(lambda text, label: (layer(text), label)))
    assert ids.tolist() == [[4, 2, 0, 0], [3, 3, 2, 0]]
    assert labels.tolist() == [1, 0]
    model = tf.keras.Sequential([layers.Embedding(5, 2), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(data.map(lambda text, label: (layer(text), label)), verbose=0)


def test_text_is_standardised_by_functions_of_tf():
    def standardize(texts):
        return tf.strings.regex_replace(tf.strings.lower(texts), "<br />", " ") + " end"

    layer = tf.keras.layers.TextVectorization(standardize=standardize, vocabulary=["good", "end"])
    assert layer(tf.constant(["Good<br />x"])).numpy().tolist() == [[2, 1, 3]]


def test_a_sequential_takes_texts_where_its_first_layer_does():
    layer = layers.TextVectorization(vocabulary=["good", "film"], output_sequence_length=4)
    model = tf.keras.Sequential([layer, layers.Embedding(5, 2), layers.Flatten()])
    texts = tf.constant(["Good film", "bad film"])
    assert model(texts).shape == (2, 8)
    np.testing.assert_allclose(model.predict(texts, verbose=0), model(texts), rtol=1e-6)
