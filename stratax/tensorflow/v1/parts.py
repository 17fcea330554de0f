"""What model scopes consist of, for graphs, which are made of the same."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
