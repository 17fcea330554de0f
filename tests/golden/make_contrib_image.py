"""Write `contrib_image.npz` with what TensorFlow 1.15 gives for `contrib_image_cases.py`: Python 3.7."""

import os

import contrib_image_cases
import numpy as np
import tensorflow as tf


def main():
    """Compute each case."""
    with tf.Session() as session:
        found = session.run(
            {name: case(tf.contrib.image, tf.constant) for name, case in contrib_image_cases.CASES.items()}
        )
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "contrib_image.npz")
    np.savez_compressed(path, **found)


main()
