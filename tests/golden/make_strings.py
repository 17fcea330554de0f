"""Writes strings.npz: what TensorFlow 2.15's Estimator makes of `strings_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_strings
"""

import pathlib
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

from tests.golden import strings_cases

# So many numbers of a variable are enough to tell it.
FEW = 60


def main():
    """Train, evaluate and predict, and write numbers and strings."""
    model_fn, train, evaluation = strings_cases.cases(tf, tf.estimator, tf.lookup)
    with tempfile.TemporaryDirectory() as folder:
        made = tf.estimator.Estimator(model_fn, folder)
        made.train(train, steps=strings_cases.STEPS)
        found = {f"metric {name}": value for name, value in made.evaluate(evaluation).items()}
        predicted = list(made.predict(evaluation))
        found |= {
            f"prediction {name}": np.array([row[name] for row in predicted[-20:]]) for name in predicted[0]
        }
        found |= {
            f"variable {name}": np.ravel(made.get_variable_value(name))[:FEW]
            for name in made.get_variable_names()
        }
    np.savez_compressed(pathlib.Path(__file__).with_name("strings.npz"), **found)


if __name__ == "__main__":
    main()
