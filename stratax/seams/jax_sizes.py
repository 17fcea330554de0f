"""Sizes with names of `jax.export.symbolic_shape`: of what they are computed, and comparing them (seams layer).

JAX has no public way to turn them into numbers. It takes each name for 1 at least, and a size for unequal to any
number, and what programs compare would go by that.
"""

import functools
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax._src import core

__all__ = ["compute_comparisons", "compute_size", "largest", "names_of", "size_of", "sizes_of", "smallest"]

largest, smallest = core.max_dim, core.min_dim


def size_of(symbol: Any, named: Callable[[str], int]) -> int:
    """Return a size of `jax.export.symbolic_shape` as a number, by what its names stand for."""
    return int(symbol._evaluate({name: named(name) for name in symbol._get_vars()}))


def names_of(symbol: Any) -> set[str]:
    """Return the names that a size of `jax.export.symbolic_shape` is computed of."""
    return set(symbol._get_vars())


def sizes_of(symbol: Any, named: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a size of `jax.export.symbolic_shape` for each of several numbers that its names stand for.

    Raises:
        ZeroDivisionError: If it is divided by 0 for one of them.
    """
    total = np.zeros((), int)
    for term, count in symbol._sorted_terms:
        factors = [_factor_of(factor, named) ** power for factor, power in term._factors]
        total = total + functools.reduce(np.multiply, factors, count)
    return total


def _factor_of(factor: Any, named: Mapping[str, np.ndarray]) -> np.ndarray:
    if factor.var is not None:
        return named[factor.var]
    one, other = (sizes_of(each, named) for each in factor.operands)
    if factor.operation in (factor.MAX, factor.MIN):
        return np.maximum(one, other) if factor.operation == factor.MAX else np.minimum(one, other)
    if not other.all():
        raise ZeroDivisionError(f"A size is divided by one that may be 0: {factor}.")
    return one // other if factor.operation == factor.FLOORDIV else one % other


def compute_comparisons(scope: Any) -> None:
    """Have programs get what is known when they run where they compare sizes of a scope.

    Libraries compare them, too, to check what they are given: that a size is no more than another, say. That holds for
    them where JAX does not know.

    Args:
        scope: The sizes' `SymbolicScope`.
    """
    kind: Any = type(jax.export.symbolic_shape("size", scope=scope)[0])
    for name in ("ge", "gt", "le", "lt", "eq", "ne"):
        attribute = f"__{name}__"
        setattr(
            kind, attribute, _compute_comparison(getattr(kind, attribute), scope, getattr(operator, name))
        )
    kind.__bool__ = lambda self: (
        self.scope is not scope or _is_of_library(_CONTROL) or bool(jnp.asarray(self) != 0)
    )


def _compute_comparison(
    guess: Callable[..., Any], scope: object, compare: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(guess)
    def decide(self: Any, other: Any) -> Any:
        is_number = isinstance(other, int | float | np.number | jax.Array | type(self))
        if self.scope is not scope or not is_number:
            return guess(self, other)
        if not _is_of_library():
            return compare(jnp.asarray(self), jnp.asarray(other))
        try:
            return guess(self, other)
        except core.InconclusiveDimensionOperation:
            # A name is one more than a number of rows.
            return compare in (operator.ge, operator.le) or compare(size_of(self - other, lambda _: 2), 0)

    return decide


def _is_of_library(but: str | None = None) -> bool:
    """Return whether the caller's caller compares sizes to compute with arrays of any size."""
    name = str(sys._getframe(2).f_globals.get("__name__"))
    return name.partition(".")[0] in _LIBRARIES and (but is None or not name.startswith(but))


_LIBRARIES = frozenset({"jax", "jaxlib", "keras", "numpy", "stratax"})
# What decides for programs.
_CONTROL = "stratax.core.control"


def compute_size(symbol: Any, counts: Mapping[str, Any]) -> Any:
    """Return a size of `jax.export.symbolic_shape` that is computed, by the values of its names."""
    return symbol._evaluate(dict(counts))
