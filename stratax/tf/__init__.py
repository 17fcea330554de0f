"""TensorFlow's names for what Stratax does: `import stratax.tf as tf` (tf layer).

A program that was written for TensorFlow finds the same things in the same places; `docs/compatibility.md` lists what
is different. Nothing here has a logic of its own: strategies, Datasets, `function` and `GradientTape` are those of
`stratax`, `tf.keras` is Keras 3, and array functions are `keras.ops` under TensorFlow's names and arguments.

A tensor is a `jax.Array`, or what poses as one on the host; `tf.Tensor` is the class of both. Array functions that
make sense in an input pipeline answer NumPy arrays with NumPy arrays, on the host, so that the functions given to
`Dataset.map` start no device; everything else computes on a device.
"""

from stratax.base import doors as _doors
from stratax.tf import _generation, _names, _tensors

_doors.open_to_users(__name__)
_tensors.install()
__getattr__, __dir__, __all__ = _names.attach(__name__, __file__)
__getattr__ = _generation.telling(__getattr__)
