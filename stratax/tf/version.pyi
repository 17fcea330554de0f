"""`tf.version`: the TensorFlow whose names there are (tf layer)."""

from stratax.tf._version import COMPILER_VERSION as COMPILER_VERSION
from stratax.tf._version import GIT_VERSION as GIT_VERSION
from stratax.tf._version import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from stratax.tf._version import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from stratax.tf._version import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from stratax.tf._version import VERSION as VERSION
