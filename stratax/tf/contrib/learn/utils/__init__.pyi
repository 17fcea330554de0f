"""`tf.contrib.learn.utils`: exports (tf layer)."""

from . import input_fn_utils as input_fn_utils
from . import saved_model_export_utils as saved_model_export_utils
