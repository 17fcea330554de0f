"""Makes `sessions.json`: what programs with sessions compute. `python make_sessions.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.15.1. TensorFlow 1 makes `sessions_contrib.json`, of programs with its
`tf.contrib`; that in the checkout is of 1.15.5.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import session_cases
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def as_json(value):
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    # TensorFlow 1 needs an older Python.
    if issubclass(type(value), (list, tuple)):
        return [as_json(each) for each in value]
    if hasattr(value, "tolist"):
        return as_json(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value


if __name__ == "__main__":
    found = {}
    has_contrib = tf.__version__.startswith("1.")
    if has_contrib:
        import tensorflow as tf
    for name, case in (session_cases.CONTRIB_CASES if has_contrib else session_cases.CASES).items():
        tf.reset_default_graph()
        found[name] = as_json(case(tf))
    own = pathlib.Path(__file__).with_name("sessions_contrib.json" if has_contrib else "sessions.json")
    own.write_text(json.dumps(found, separators=(",", ":")) + "\n")
