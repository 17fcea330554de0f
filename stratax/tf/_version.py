"""The TensorFlow whose names `stratax.tf` follows, in one place (tf layer)."""

# Programs compare it with the versions that they need.
VERSION = "2.21.0"
# Of a build, of which there is none here.
GIT_VERSION = f"v{VERSION}"
COMPILER_VERSION = "none"
# TensorFlow 2.21's.
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0
