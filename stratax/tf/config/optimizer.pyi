"""`tf.config.optimizer` (tf layer)."""

from stratax.cluster.settings import get_experimental_options as get_experimental_options
from stratax.cluster.settings import get_jit as get_jit
from stratax.cluster.settings import set_experimental_options as set_experimental_options
from stratax.cluster.settings import set_jit as set_jit
