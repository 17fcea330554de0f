"""How a stateful Python function becomes a pure JAX program. Knows no strategy."""

from stratax import _doors
from stratax.core import _convolutions, _pooling, _sums

_convolutions.install()
_pooling.install()
_sums.install()

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
