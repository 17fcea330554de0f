"""What importing `stratax.tf` does to arrays: they have the methods of TensorFlow's tensors (tf layer)."""

import importlib
import warnings

from stratax.base.tensors import tell_tensors
from stratax.startup import backend


def install() -> None:
    """Give JAX' arrays, and what Keras has of them, the methods once the library is imported, by whom ever."""
    tell_tensors()
    leave_out_warnings()
    backend.after_import(
        "jax", lambda: importlib.import_module("stratax.tensorflow.ops.arrays.tensors").install()
    )
    backend.after_import(
        "keras", lambda: importlib.import_module("stratax.tensorflow.ops.arrays.tensors").install_in_keras()
    )


def leave_out_warnings() -> None:
    """Leave out JAX' warning of dtypes of 64 bits where Keras and the library ask for them."""
    # TensorFlow's programs say int64 and float64 everywhere: that devices have 32 bits stands in docs/compatibility.md.
    # Of what a program asks JAX itself JAX goes on to warn.
    warnings.filterwarnings("ignore", "Explicitly requested dtype", UserWarning, module=r"(keras|stratax)\.")
