"""Keras' own names give layers of text that need no TensorFlow."""

import keras
import pytest

import stratax.tf as tf
from stratax.seams import keras_text


@pytest.mark.parametrize(
    "name", ["HashedCrossing", "Hashing", "StringLookup", "TextVectorization", "IntegerLookup"]
)
def test_keras_makes_a_layer_of_text_that_needs_no_tensorflow(name):
    options = {"num_bins": 3} if name.startswith("Hash") else {}
    made = getattr(keras.layers, name)(**options)
    assert isinstance(made, getattr(keras.layers, name))
    assert type(made) is getattr(tf.keras.layers, name)
    again = keras.layers.deserialize(keras.layers.serialize(made))
    assert type(again) is type(made)


def test_a_class_of_a_program_stays_that_class():
    class Own(keras.layers.Dense):
        pass

    assert type(Own(1)) is Own
    keras.Input((1,), dtype="string")
    assert keras_text.in_place
