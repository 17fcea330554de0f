"""A Keras model as an Estimator, for TensorFlow's Keras and for Keras 3: the same lines."""

import numpy as np

random = np.random.RandomState(0)
FEATURES = random.randn(48, 4).astype("float32")
LABELS = (FEATURES[:, 0] > FEATURES[:, 1] * 0.5).astype("int32")
WEIGHTS = random.uniform(0.5, 1.5, 48).astype("float32")
KERNELS = [random.randn(4, 6).astype("float32") * 0.5, random.randn(6, 2).astype("float32") * 0.5]
STEPS = 5


def model(keras, optimizers):
    """Return the model, compiled with an optimizer of those that a library's Estimator takes."""
    made = keras.Sequential(
        [
            keras.layers.Input((4,), name="x"),
            keras.layers.Dense(6, "tanh", kernel_regularizer=keras.regularizers.L2(0.02), name="hidden"),
            keras.layers.Dense(2, "softmax", name="kind"),
        ]
    )
    made.set_weights([KERNELS[0], np.ones(6, "float32"), KERNELS[1], np.zeros(2, "float32")])
    rate = keras.optimizers.schedules.ExponentialDecay(0.3, 2, 0.8)
    optimizer = optimizers.SGD(rate, momentum=0.9)
    made.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy", "mae"])
    return made


def input_fn(data, *, weighted, repeat=True):
    """Return batches, of training with weights of the examples (TensorFlow 2.15 can't evaluate with them)."""
    features = {"x": FEATURES}
    if weighted:
        features = {"features": features, "sample_weights": WEIGHTS}
    dataset = data.Dataset.from_tensor_slices((features, LABELS[:, None]))
    return (dataset.repeat() if repeat else dataset).batch(16)
