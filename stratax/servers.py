"""Shards of variables in processes of their own: the front door of `stratax.parameter_servers.servers`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
