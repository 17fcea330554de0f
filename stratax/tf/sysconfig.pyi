"""`tf.sysconfig` (tf layer)."""

from stratax.cluster.settings import get_build_info as get_build_info
