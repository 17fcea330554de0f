"""What `make_contrib_image.py` asks TensorFlow 1.15 and the tests ask Stratax: `tf.contrib.image`.

Read by both, so neither TensorFlow nor Stratax is imported here.
"""

import numpy as np

X = np.random.RandomState(0).uniform(0, 255, (2, 5, 4, 2)).astype(np.float32)
BYTES = X.astype(np.uint8)
FLOW = 2 * np.random.RandomState(1).normal(size=(2, 5, 4, 2)).astype(np.float32)
PROJECTIONS = np.float32([[1, 0.2, -1, 0.1, 0.9, 0.5, 0.01, -0.02], [0.8, 0, 1, 0, 1.2, -1, 0, 0]])

# By name: a function of the module and of what makes arrays, on the host or on a device.
CASES = {
    "rotate": lambda im, of: im.rotate(of(X), [0.3, -1.1]),
    "rotate_b": lambda im, of: im.rotate(of(X), 0.5, "BILINEAR"),
    "rotate_u": lambda im, of: im.rotate(of(BYTES[0]), 0.7, interpolation="BILINEAR"),
    "rotate_2": lambda im, of: im.rotate(of(X[0, :, :, 0]), 3.0),
    "translate": lambda im, of: im.translate(of(X), [1, -1]),
    "translate_b": lambda im, of: im.translate(of(BYTES), [[0.5, 1.25], [-1, 2]], "BILINEAR"),
    "transform": lambda im, of: im.transform(of(X), PROJECTIONS, "BILINEAR"),
    "transform_n": lambda im, of: im.transform(of(BYTES), PROJECTIONS),
    "transform_s": lambda im, of: im.transform(of(X), PROJECTIONS[0], output_shape=[3, 6]),
    "composed": lambda im, of: im.compose_transforms(of(PROJECTIONS[0]), of(PROJECTIONS)),
    "warped": lambda im, of: im.dense_image_warp(of(X), of(FLOW)),
}
