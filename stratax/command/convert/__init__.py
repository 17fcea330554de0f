"""Labelled images into files of records, once, before training (convert layer).

`stratax convert images` does the same from the command line, `stratax.command.convert.beam` with Apache Beam.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
