"""From a dataset to the replicas' devices: reading steps, reading ahead, dividing batches, agreeing between workers."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
