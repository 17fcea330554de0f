"""What importing `stratax.tf` does to arrays: they have the methods of TensorFlow's tensors (tf layer)."""

import importlib

from stratax import _backend
from stratax._tensors import tell_tensors


def install() -> None:
    """Give JAX' arrays, and what Keras has of them, the methods once the library is imported, by whom ever."""
    tell_tensors()
    _backend.after_import("jax", lambda: importlib.import_module("stratax.tensorflow.ops.tensors").install())
    _backend.after_import(
        "keras", lambda: importlib.import_module("stratax.tensorflow.ops.tensors").install_in_keras()
    )
