"""Describe a pipeline: nodes, what one iteration shares (`Run`), and orders of random operations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
