"""What `import tf_keras` finds where a process takes Stratax for TensorFlow: it is `tf.keras` there (tf layer)."""

import sys

import tensorflow as _tf

sys.modules[__name__] = _tf.keras
