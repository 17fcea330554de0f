"""What has the same name here and needs neither JAX nor Keras (tf layer)."""

from stratax._version import __version__ as __version__
from stratax.data import TensorSpec as TensorSpec

__all__ = ["TensorSpec", "__version__"]
