"""`tf.contrib.keras`: `tf.keras`, under the older name (tf layer)."""

from stratax.tf.keras import *

from . import api as api
