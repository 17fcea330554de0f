"""Sizes that values decide: arrays of as many rows as a mask has places, where shapes are known (core layer).

While a function is traced, such a size is a symbol of `jax.export`. Before the program is compiled, every array that
has one becomes as large as it can get; what is behind its true size counts in no result (`_settling.py`).
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np

from stratax.base.tracing import CHOSEN, SETTLING, has_symbolic_sizes
from stratax.core.jaxprs._chosen import is_size, places_p
from stratax.core.jaxprs._evaluate import evaluate
from stratax.core.jaxprs._settling import settle
from stratax.core.jaxprs._walk import contains, levels, walk_nested
from stratax.seams import jax_sizes as seam


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
    if not (CHOSEN and contains(closed.jaxpr, lambda equation: equation.primitive is places_p)):
        return closed
    return settle(closed, cuts=cuts, is_part=is_part)


def has_own_sizes(jaxpr: jax.extend.core.Jaxpr) -> bool:
    """Return whether sizes that values decide are made in a jaxpr, and it has no others."""
    made: set[str] = set()
    used: set[str] = set()
    for each in levels(jaxpr):
        used.update(*(_names_of(variable.aval) for variable in (*each.invars, *each.constvars)))
    for equation in walk_nested(jaxpr):
        names = set().union(*(_names_of(variable.aval) for variable in equation.outvars))
        made |= names if equation.primitive is places_p else set()
        used |= names
        if equation.primitive.name == "dim_as_value" and is_size(equation.params["dim"]):
            used |= seam.names_of(equation.params["dim"])
    return bool(made) and used <= made


def _names_of(aval: Any) -> set[str]:
    return set().union(*(seam.names_of(size) for size in getattr(aval, "shape", ()) if is_size(size)))


def may_find_places() -> bool:
    """Return whether sizes are settled in what is traced, or Keras traces it only to learn its types."""
    # Keras' seam is read with the core.
    from stratax.seams.keras import in_symbolic_scope

    return SETTLING.get() or in_symbolic_scope()


def settle_within(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the same of arrays, with its sizes settled, as a part of what is traced."""

    @functools.wraps(function)
    def compute(*arguments: Any) -> Any:
        with SETTLING.holding(True):
            closed, types = jax.make_jaxpr(function, return_shape=True)(*arguments)
        results = evaluate(settle_sizes(closed, is_part=True), jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(types), results)

    return compute


def find_counts(result: Any) -> tuple[Any, list[tuple[int, jax.Array]]]:
    """Return a result of what is traced as an array, and how much of each axis counts where values decide that.

    Args:
        result: An array, a size, or sizes as `tf.shape` gives them; anything else stays.
    """
    if is_size(result) or has_symbolic_sizes(result):
        sizes = [jnp.asarray(size) for size in np.ravel(result)]
        result = jnp.reshape(jnp.stack(sizes), np.shape(result))
    shape = getattr(result, "shape", ())
    return result, [(axis, jnp.asarray(size)) for axis, size in enumerate(shape) if is_size(size)]


def compile_settled(traced: Any) -> Any:
    """Return a compiled function of what a trace of `jax.jit` becomes with its sizes settled; None if it has none.

    Args:
        traced: What `jax.jit(function).trace(...)` gave; its first argument is donated if it is there.
    """
    closed = settle_sizes(traced.jaxpr)
    if closed is traced.jaxpr:
        return None
    structure = jax.tree.structure(traced.out_info)
    of_first = jax.tree.leaves(traced.args_info[0][0])

    def compute(*arguments: Any) -> Any:
        return jax.tree.unflatten(structure, evaluate(closed, jax.tree.leaves(arguments)))

    return jax.jit(
        compute, donate_argnums=(0,) if of_first and all(each.donated for each in of_first) else ()
    )
