"""How values of replicas are combined: reductions, all-reduce algorithms, packing, options of communication.

Knows arrays and mesh axes, and no strategy. A new all-reduce is a subclass of `CrossDeviceOps`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
