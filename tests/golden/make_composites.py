"""Makes `composites.json`: what TensorFlow's tf.data makes of sparse and ragged elements.

Run it with a Python that has TensorFlow 2.21: python -m tests.golden.make_composites
"""

import json
import os
import pathlib

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf

from tests.golden import composite_cases


def main():
    """Run the cases and write what they gave."""
    found = {}
    for name, make in composite_cases.cases(tf).items():
        result = composite_cases.found(make)
        # Of an error its class; messages are our own.
        result.pop("said", None)
        if "error" in result:
            result = {"error": result["error"][0]}
        found[name] = result
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items()]
    path = pathlib.Path(__file__).with_name("composites.json")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
