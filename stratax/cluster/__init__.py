"""Who takes part: clusters and their resolvers, connecting to one and noticing its failure; devices, real or simulated.

Layer: above `stratax.core`, below `stratax.data`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
