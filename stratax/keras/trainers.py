"""How a model's steps are run, for packages that do something else with them (keras layer)."""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
