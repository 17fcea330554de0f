"""Describe a Dataset's elements: specs, structures, arrays, blocks of rows, and draws that belong to an element."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
