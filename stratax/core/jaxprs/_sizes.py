"""Sizes that values decide: arrays of as many rows as a mask has places, where shapes are known (core layer).

While a function is traced, such a size is a symbol of `jax.export`. Before the program is compiled, every array that
has one becomes as large as it can get; what is behind its true size counts in no result (`_settling.py`).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core

from stratax.base.surroundings import Slot, Surroundings
from stratax.core.jaxprs._chosen import are_found, places_p
from stratax.core.jaxprs._evaluate import evaluate
from stratax.core.jaxprs._walk import contains

# Whether who traces settles sizes before anything is compiled.
_SETTLING: Slot[bool] = Slot("sizes are settled", False)


def settle_sizes(
    closed: jax.extend.core.ClosedJaxpr, *, cuts: bool = False, is_part: bool = False
) -> jax.extend.core.ClosedJaxpr:
    """Return a closed jaxpr without symbols for sizes that :func:`find_places` made; itself if it has none.

    Args:
        closed: The jaxpr.
        cuts: Whether who takes its results cuts those whose size is such a symbol: they are as large as they can get,
            with what counts in front.
        is_part: Whether it is a part of what is traced, of which derivatives may be taken later.

    Raises:
        BadTypeError: If it does something with such an array that is not known for arrays of unknown size, or has one
            as a result and nobody cuts it.
    """
    if not (are_found() and contains(closed.jaxpr, lambda equation: equation.primitive is places_p)):
        return closed
    # Few programs need it.
    from stratax.core.jaxprs._settling import settle

    return settle(closed, cuts=cuts, is_part=is_part)


def settle_in_block() -> Surroundings:
    """Say that what is traced in a block is given to :func:`settle_sizes` before it is compiled."""
    return _SETTLING.holding(True)


def may_find_places() -> bool:
    """Return whether sizes are settled in what is traced, or Keras traces it only to learn its types."""
    # Keras' seam is read with the core.
    from stratax.seams.keras import in_symbolic_scope

    return _SETTLING.get() or in_symbolic_scope()


def settle_within(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the same of arrays, with its sizes settled, as a part of what is traced."""

    @functools.wraps(function)
    def compute(*arguments: Any) -> Any:
        with settle_in_block():
            closed, types = jax.make_jaxpr(function, return_shape=True)(*arguments)
        results = evaluate(settle_sizes(closed, is_part=True), jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(types), results)

    return compute
