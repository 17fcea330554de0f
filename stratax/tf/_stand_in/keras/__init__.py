"""What `import keras` finds first where a process takes Stratax for TensorFlow: Keras, once that is so (tf layer)."""

import importlib
import sys

# What waits for Keras must not take this for it.
del sys.modules[__name__]
import tensorflow  # noqa: E402, F401 -- which makes the process take Stratax for it, and this folder be left out

importlib.import_module(__name__)
