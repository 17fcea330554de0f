"""Makes `text_models.json`: what models of text compute. `python make_text_models.py`, with TensorFlow.

The file in the checkout is of TensorFlow 2.21.0.
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
import text_model_cases


def as_json(value):
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
    for name, case in text_model_cases.cases_here().items():
        tf.keras.backend.clear_session()
        found[name] = as_json(case(tf))
    path = pathlib.Path(__file__).with_name("text_models.json")
    path.write_text(json.dumps(found, separators=(",", ":")) + "\n")
