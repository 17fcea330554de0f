"""What `make_inception.py` asks TensorFlow 1.15 and the tests ask Stratax: a narrow Inception V3.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np

IMAGES = np.random.RandomState(0).uniform(-1, 1, (2, 125, 115, 3)).astype(np.float32)
ENDS = ["Conv2d_2b_3x3", "MaxPool_5a_3x3", "Mixed_5d", "Mixed_6e", "Mixed_7c", "Logits", "Predictions"]


def weights(shape, dtype=None, partition_info=None):
    """Initializer of convolutions: the same numbers for the same shape."""
    sizes = [int(size) for size in shape]
    return np.random.RandomState(sum(sizes)).normal(size=sizes).astype(np.float32)


def net(tf, images):
    """Return the layers of :data:`ENDS`, and the shapes of all others by name."""
    slim, inception = tf.contrib.slim, tf.contrib.slim.nets.inception
    scope = inception.inception_v3_arg_scope()
    with slim.arg_scope(scope), slim.arg_scope([slim.conv2d], weights_initializer=weights):
        _, ends = inception.inception_v3(
            images, num_classes=4, dropout_keep_prob=1.0, min_depth=4, depth_multiplier=0.1
        )
    return {name: ends[name] for name in ENDS}, {
        name: [int(n) for n in end.shape] for name, end in ends.items()
    }
