from stratax.tf.keras import *

from . import api as api
