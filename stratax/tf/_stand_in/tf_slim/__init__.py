"""What `import tf_slim` finds where a process takes Stratax for TensorFlow: `tf.contrib.slim` (tf layer)."""

import importlib
import sys

import tensorflow  # noqa: F401 -- which makes the process take Stratax for it

sys.modules[__name__] = importlib.import_module("stratax.tf.contrib.slim")
