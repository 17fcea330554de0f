"""Models that run elsewhere, without the program that made them: folders of compiled functions (export layer).

From below: `_manifest` is what a folder says of itself, `_folder` writes and reads it whole and checked, `_trace` makes
a compiled function of one of Python, `_objects` finds the functions of models and objects, `_load` runs them,
`_saved_model` writes them as TensorFlow reads them. What is imported to load and run an export needs JAX and no Keras.

`saved_model` is `tf.saved_model`: `_saved_objects` and `_loaded_objects` write and read an object with its variables
and functions. What it has stands in a file beside an export's (`_object_file`); `_saved_functions` compiles functions.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
