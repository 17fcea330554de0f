"""Which strategy a variable belongs to (distribute layer).

Keras asks the distribution that is set for the layout of each variable it creates; that is how a scope learns of them.
"""

import weakref
from typing import TYPE_CHECKING, Any

import jax
import keras

from stratax.core import _placement

if TYPE_CHECKING:
    from stratax.distribute._strategy import Strategy

_owners: dict[int, "Strategy"] = {}
_pending: dict[int, "weakref.ref[keras.Variable]"] = {}


class ScopeLayouts:
    """What Keras sees as its distribution inside a scope: it learns of variables and lays out nothing itself.

    Keras would lay out each array of a computation; here `strategy.run` does that.
    """

    def __init__(self, strategy: "Strategy") -> None:
        self._strategy = strategy

    def get_variable_layout(self, variable: keras.Variable) -> None:
        """Notes that `variable` is created in the scope. Asked by Keras."""
        own(variable, self._strategy)
        _pending[id(variable)] = weakref.ref(variable)

    def get_tensor_layout(self, path: str) -> None:
        """No layout for intermediate values. Asked by Keras."""


def own(variable: keras.Variable, strategy: "Strategy") -> None:
    """Notes that `variable` belongs to `strategy`."""
    key = id(variable)
    if key not in _owners:
        weakref.finalize(variable, _owners.pop, key, None)
    _owners[key] = strategy


def owner(variable: keras.Variable) -> "Strategy | None":
    """The strategy in whose scope `variable` was created, or None."""
    return _owners.get(id(variable))


def place_new_variables(strategy: "Strategy") -> None:
    """Puts the variables that were created in the scope where the strategy keeps them.

    Those that have no value yet (layers that build lazily) are placed when a program first uses them.
    """
    variables = [reference() for reference in _pending.values()]
    _pending.clear()
    present = [v for v in variables if v is not None and isinstance(v._value, jax.Array)]
    present = [v for v in present if not isinstance(v._value, jax.core.Tracer)]
    values = strategy.extended.agreed([v._value for v in present])
    placed: list[Any] = _placement.place(values, strategy.extended.variable_storage)
    for variable, value in zip(present, placed, strict=True):
        variable._value = value
