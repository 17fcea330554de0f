"""Array functions with TensorFlow's meaning, on the host for NumPy and on a device for all else (ops layer).

What a module here defines without an underscore in front is for other packages of Stratax: `stratax.tf` gives these
functions their place among TensorFlow's names.
"""

from stratax.tensorflow.ops import _pure

_pure.register()
