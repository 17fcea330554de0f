"""What code inside and around a replica sees: contexts, values per replica, and variables while replicas compute."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
