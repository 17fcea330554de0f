"""Writes `parameter_server.json` with TensorFlow 2.21: `python tests/golden/make_parameter_server.py`."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import parameter_server_cases as cases
import tensorflow as tf


def main() -> None:
    """Run the cases and write what they give."""
    _tasks, resolver = cases.make_cluster(tf)
    strategy = tf.distribute.experimental.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    found = {name: cases.train(tf, coordinator, name) for name in cases.OPTIMIZERS}
    target = pathlib.Path(__file__).with_suffix("").with_name("parameter_server.json")
    target.write_text(json.dumps({"tensorflow": tf.__version__, "cases": found}, indent=1) + "\n")
    # TensorFlow's servers have no end.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
