"""Parameter servers: processes that keep shards of variables and update them with what tasks push (servers layer).

From below: `_wire` has messages of arrays, `_certificates` who may connect, `_shards` what a server keeps, `_server`
and `_connection` the two ends of a stream. Extra: `servers`.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
