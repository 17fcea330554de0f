"""Makes `sessions.json`: what programs with sessions compute. `python make_sessions.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import session_cases
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def as_json(value):
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value


if __name__ == "__main__":
    found = {}
    for name, case in session_cases.CASES.items():
        tf.reset_default_graph()
        found[name] = as_json(case(tf))
    path = pathlib.Path(__file__).with_name("sessions.json")
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")
