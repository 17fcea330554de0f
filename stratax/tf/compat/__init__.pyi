"""`tf.compat`: names of earlier versions of TensorFlow (tf layer)."""

import stratax.tf
from stratax.tensorflow.v1.compat import as_bytes as as_bytes
from stratax.tensorflow.v1.compat import as_str as as_str
from stratax.tensorflow.v1.compat import as_str_any as as_str_any
from stratax.tensorflow.v1.compat import as_text as as_text
from stratax.tensorflow.v1.compat import bytes_or_text_types as bytes_or_text_types
from stratax.tensorflow.v1.compat import complex_types as complex_types
from stratax.tensorflow.v1.compat import dimension_at_index as dimension_at_index
from stratax.tensorflow.v1.compat import dimension_value as dimension_value
from stratax.tensorflow.v1.compat import forward_compatible as forward_compatible
from stratax.tensorflow.v1.compat import integral_types as integral_types
from stratax.tensorflow.v1.compat import path_to_bytes as path_to_bytes
from stratax.tensorflow.v1.compat import path_to_str as path_to_str
from stratax.tensorflow.v1.compat import real_types as real_types

from . import v1 as v1

v2 = stratax.tf
