"""Writes heads.json: what TensorFlow 2.15's heads make of `heads_cases`.

Run it with a Python that has TensorFlow 2.15: python -m tests.golden.make_heads
"""

import json
import pathlib

import tensorflow as tf

from tests.golden import heads_cases


def main():
    """Write TensorFlow's numbers as JSON."""
    found = {
        name: heads_cases.answers(*case)
        for name, case in heads_cases.cases(tf.estimator, tf.SparseTensor).items()
    }
    pathlib.Path(__file__).with_name("heads.json").write_text(
        json.dumps(found, separators=(",", ":")).replace("},", "},\n") + "\n"
    )


if __name__ == "__main__":
    main()
