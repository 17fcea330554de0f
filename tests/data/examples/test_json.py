"""`decode_json_example`: TensorFlow 2.21 reads the same examples."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError

ONE = '{"features":{"feature":{"a":{"int64List":{"value":["1","2"]}},"b":{"bytesList":{"value":["YWI="]}}}}}'
KINDS = {"a": tf.io.VarLenFeature(tf.int64), "b": tf.io.VarLenFeature(tf.string)}


def test_an_example_and_its_names_in_both_spellings():
    parsed = tf.io.parse_single_example(tf.io.decode_json_example(ONE), KINDS)
    assert parsed["a"].values.numpy().tolist() == [1, 2]
    assert parsed["b"].values.numpy().tolist() == [b"ab"]
    snake = '{"features":{"feature":{"c":{"float_list":{"value":[1.5,"NaN"]}}}}}'
    example = tf.train.Example.FromString(tf.io.decode_json_example(snake).numpy())
    np.testing.assert_array_equal(example.features.feature["c"].float_list.value, [1.5, np.nan])


def test_shapes_and_elements():
    texts = [['{"features":{}}', "{}"]]
    assert tf.io.decode_json_example(texts).numpy().tolist() == [[b"\n\x00", b""]]
    parsed = tf.data.Dataset.from_tensors(ONE).map(tf.io.decode_json_example)
    (element,) = parsed.map(lambda each: tf.io.parse_single_example(each, KINDS)["a"])
    assert tf.sparse.to_dense(element).numpy().tolist() == [1, 2]


@pytest.mark.parametrize("text", ['{"features":', '{"nada":1}', 5])
def test_what_is_no_example(text):
    with pytest.raises(BadArgumentError, match="Error while parsing JSON"):
        tf.io.decode_json_example(text)
