"""What JAX traces: how its equations are found, gone through, cut and evaluated (core layer).

Nothing else in Stratax looks at the list of a jaxpr's equations, but for what compiles for TPUs (`rehearsal`). The rest
of the core is not known here.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
