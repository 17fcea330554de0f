"""`tensorflow_estimator`, the package behind `tf.estimator`, is there where a process takes Stratax for TensorFlow."""

import subprocess
import sys
import textwrap

from stratax.tf import migration

_PROGRAM = """
import tensorflow as tf
from tensorflow_estimator.python.estimator import estimator, model_fn
from tensorflow_estimator.python.estimator.mode_keys import ModeKeys
from tensorflow_estimator.python.estimator.export import export_output
from tensorflow_estimator.python.estimator.tpu import tpu_config
assert estimator.Estimator is tf.estimator.Estimator and model_fn.EstimatorSpec is tf.estimator.EstimatorSpec
assert ModeKeys is tf.estimator.ModeKeys and export_output.PredictOutput is tf.estimator.export.PredictOutput
assert tpu_config.TPUConfig is tf.compat.v1.estimator.tpu.TPUConfig
"""


def test_its_modules_hold_what_tf_estimator_has():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_PROGRAM)],
        env=migration.environment_as_tensorflow(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
