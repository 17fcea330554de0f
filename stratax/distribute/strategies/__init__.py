"""Strategies, and the four parts that each of them composes.

`_strategy` is what programs call and `_extended` the composition; `_placement`, `_membership`, `_execution` and
`_strategy_input` are the abstract parts and their capabilities. A new strategy begins here.
"""

from stratax.base import doors as _doors

__getattr__, __dir__, __all__ = _doors.attach(__name__, __file__)
