"""What other packages of Stratax export with: the recorder of the host's part, and the writer (export layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
