"""The network of the tutorial on digits has TensorFlow's shapes and names, and learns."""

import numpy as np

import stratax.tf.compat.v1 as tf
from stratax.tf.examples.tutorials.mnist import mnist


def test_the_network_learns_digits():
    assert mnist.IMAGE_PIXELS == mnist.IMAGE_SIZE**2
    images = np.eye(4, mnist.IMAGE_PIXELS, dtype="float32")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, y = tf.placeholder(tf.float32, [4, mnist.IMAGE_PIXELS]), tf.placeholder(tf.int32, [4])
        logits = mnist.inference(x, 8, 6)
        loss = mnist.loss(logits, y)
        train, right = mnist.training(loss, 1.0), mnist.evaluation(logits, y)
        assert logits.shape.as_list() == [4, mnist.NUM_CLASSES]
        assert [each.name for each in tf.trainable_variables()][:2] == [
            "hidden1/weights:0",
            "hidden1/biases:0",
        ]
        session.run(tf.global_variables_initializer())
        feed = {x: images, y: [0, 1, 2, 3]}
        first = session.run(loss, feed)
        for _ in range(300):
            session.run(train, feed)
        assert session.run(loss, feed) < first / 10
        assert session.run(right, feed) == 4
        assert session.run("global_step:0") == 300
