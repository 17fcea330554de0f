"""Open, list and write files at paths and URLs; files and folders that appear whole."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
