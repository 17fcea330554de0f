"""Writes estimator.npz: what TensorFlow 2.15's Estimator makes of `estimator_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_estimator
"""

import pathlib
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from tests.golden import estimator_cases


def main():
    """Train, evaluate and predict, and write the numbers."""
    model_fn, train, evaluation = estimator_cases.cases(tf, tf.estimator, tf.data)
    with tempfile.TemporaryDirectory() as folder:
        made = tf.estimator.Estimator(model_fn, folder)
        made.train(train, steps=estimator_cases.STEPS)
        found = {f"metric {name}": value for name, value in made.evaluate(evaluation).items()}
        found["predictions"] = np.stack([row["p"] for row in made.predict(evaluation)])[:20]
        found |= {f"variable {name}": made.get_variable_value(name) for name in made.get_variable_names()}
    np.savez_compressed(pathlib.Path(__file__).with_name("estimator.npz"), **found)


if __name__ == "__main__":
    main()
