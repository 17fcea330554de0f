"""What exports have in common, for the host's part of them and for saved objects."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
