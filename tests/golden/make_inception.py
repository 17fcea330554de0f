"""Write `inception.json` with what TensorFlow 1.15 gives for `inception_cases.py`: Python 3.7."""

import json
import os

import inception_cases as cases
import numpy as np
import tensorflow as tf
from tensorflow.contrib.slim.nets import inception

# Loaded by its name only.
tf.contrib.slim.nets.inception = inception


def main():
    """Compute the layers' means and deviations, the logits, and the names of variables."""
    with tf.Session() as session:
        ends, shapes = cases.net(tf, tf.constant(cases.IMAGES))
        session.run(tf.global_variables_initializer())
        values = session.run(dict(ends))
    found = {
        "shapes": shapes,
        "names": sorted(each.op.name for each in tf.global_variables()),
        "moving": len(tf.get_collection("moving_vars")),
        "losses": len(tf.get_collection("regularization_losses")),
        "statistics": {name: [float(np.mean(value)), float(np.std(value))] for name, value in values.items()},
        "logits": values["Logits"].tolist(),
    }
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inception.json"), "w") as file:
        json.dump(found, file, sort_keys=True)


main()
