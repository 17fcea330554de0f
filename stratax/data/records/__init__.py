"""Read and write files of records: framing, checksums, and where a record stands."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
