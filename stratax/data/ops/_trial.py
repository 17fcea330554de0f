"""Functions of elements, tried when a Dataset is made: what can never fit is told there, as in TensorFlow (data layer).

TensorFlow traces a function at once. Here it is only called if it is proved pure, so nobody sees the call; and what it
raises by itself is left for the element that it fails on, since zeros may be nothing that it is for.
"""

import abc
import math
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stratax.data.elements import (
    CompositeSpec,
    Row,
    TensorSpec,
    element_scope,
    empty_value,
    flatten,
    names_of_fields,
)
from stratax.data.plan import Node
from stratax.data.vectorise import call, on_host, prove

# Larger elements are not worth what a function may compute of them.
_MOST_BYTES = 1 << 16
# They would start JAX, which a strategy may have to be asked about before.
_STARTING = ("jax", "keras")


class Trying(Node):
    """A step whose functions can be tried when it is made."""

    @abc.abstractmethod
    def try_out(self) -> None:
        """Raise if a function can be seen to give what does not fit."""


Step = TypeVar("Step", bound=Trying)


def try_functions(node: Step) -> Step:
    """Return a step that was just made, with its functions tried."""
    node.try_out()
    return node


def try_out(
    function: Callable[..., Any],
    node: Node,
    check: Callable[[Any], object],
    called: Callable[[Callable[..., Any], Node, Row], Any] | None = None,
) -> None:
    """Call a function with an element of zeros, if nobody can see that, and check what it gives.

    Args:
        function: The user's.
        node: Whose elements it gets.
        check: Raises for a result that does not fit.
        called: Calls the function with a row; by default as `map` does.
    """
    row = zeros_of(node) if node.has_known_spec else None
    if row is None:
        return
    fields = names_of_fields(node.structure)
    proof = None if fields is None else prove(function, fields)
    if proof is None or any(map(_starts_jax, proof.reached)):
        return
    with on_host(), element_scope(lambda: ()), np.errstate(all="ignore"):
        try:
            result = (called or _call)(proof.function, node, row)
        except Exception:
            return
        check(result)


def _call(function: Callable[..., Any], node: Node, row: Row) -> Any:
    return call(function, node.structure, row)


def _starts_jax(value: object) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in _STARTING


def zeros_of(node: Node) -> Row | None:
    """Return an element of zeros and empty text; None if there is no such, or it would be a large one."""
    specs, _ = flatten(node.spec)
    leaves, size = [], 0
    for spec in specs:
        if isinstance(spec, CompositeSpec):
            leaves.append(spec.empty())
        elif not isinstance(spec, TensorSpec) or spec.shape is None:
            return None
        else:
            shape = [1 if n is None else n for n in spec.shape]
            size += math.prod(shape) * spec.dtype.itemsize
            if size > _MOST_BYTES:
                return None
            leaves.append(np.full(shape, empty_value(spec.dtype), spec.dtype)[()])
    return leaves
