"""Variables on parameter servers: where they are, how steps pull them and push what changes them (distribute layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
