"""What reads text has shapes in a graph, as far as they do not depend on the text."""

import numpy as np

import stratax.tf.compat.v1 as tf


def test_text_that_is_read_has_shapes_that_are_not_known():
    with tf.Graph().as_default(), tf.Session() as session:
        text = tf.placeholder(tf.string, [])
        raw, image = tf.decode_raw(text, tf.uint8), tf.image.decode_jpeg(text, channels=3)
        assert raw.shape.as_list() == [None]
        assert image.shape.as_list() == [None, None, 3]
        assert tf.image.decode_image(text).shape.as_list()[:2] == [None, None]
        features = {"x": tf.VarLenFeature(tf.float32), "y": tf.FixedLenFeature([2], tf.int64)}
        assert tf.parse_single_example(text, features)["y"].shape.as_list() == [2]
        assert tf.reshape(raw, [2, 3]).shape.as_list() == [2, 3]
        encoded = session.run(tf.image.encode_jpeg(np.zeros((4, 5, 3), np.uint8)))
        assert session.run(image, {text: encoded}).shape == (4, 5, 3)
