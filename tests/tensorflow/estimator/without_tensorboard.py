"""Trains where the package tensorboard is not installed; prints what was trained and what was said."""

import logging
import sys
import tempfile


class Missing:
    """Finds nothing of the package."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tensorboard":
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Missing())

import numpy as np  # noqa: E402

import stratax.tf as tf  # noqa: E402

logging.basicConfig(stream=sys.stdout, level=logging.WARNING, format="said: %(message)s")


def data():
    rows = np.arange(8, dtype=np.float32)[:, None]
    return tf.data.Dataset.from_tensor_slices(({"x": rows}, rows > 3)).batch(2)


def model_fn(features, labels, mode):
    kernel = tf.compat.v1.get_variable("kernel", [1, 1])
    loss = tf.reduce_mean(tf.matmul(features["x"], kernel))
    tf.compat.v1.summary.scalar("scalar", loss)
    tf.compat.v1.summary.text("text", "a")
    tf.summary.scalar("second", loss)
    step = tf.compat.v1.train.get_global_step()
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step.assign_add(1))


columns = [tf.feature_column.numeric_column("x")]
canned = tf.estimator.DNNClassifier([2], columns, model_dir=tempfile.mkdtemp())
own = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
for made in (canned, own):
    train = tf.estimator.TrainSpec(data, max_steps=3)
    tf.estimator.train_and_evaluate(made, train, tf.estimator.EvalSpec(data, throttle_secs=0))
    print("steps:", made.evaluate(data)["global_step"])
print("predictions:", len(list(canned.predict(data))))
