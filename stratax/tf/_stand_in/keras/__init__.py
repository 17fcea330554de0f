"""What `import keras` finds where a process takes Stratax for TensorFlow: Keras, with Keras 2's names (tf layer).

Keras 2's names are there once `stratax.tf` is imported, which this does for a program that imports Keras alone.
"""

import importlib
import os
import sys

_FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir))
# Keras takes this module's place, also if what is imported for it asks for Keras.
sys.modules.pop("keras", None)
if "stratax.tf" not in sys.modules:
    importlib.import_module("tensorflow")
if "keras" not in sys.modules:
    _path = list(sys.path)
    sys.path[:] = [each for each in _path if os.path.abspath(each) != _FOLDER]
    try:
        importlib.import_module("keras")
    finally:
        sys.path[:] = _path
