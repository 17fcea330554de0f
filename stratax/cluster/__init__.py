"""Who takes part: clusters and their resolvers, connecting to one and noticing its failure; devices, real or simulated.

Layer: above `stratax.core`, below `stratax.data`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
