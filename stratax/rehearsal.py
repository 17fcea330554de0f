"""Programs compiled for TPUs that are not there: the front door of `stratax.command.rehearsal`."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
