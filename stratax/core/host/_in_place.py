"""Arguments that a compiled function changes in place, where nobody would see it (core layer).

What is traced is a copy of an argument: the same structure around tracers. Modules of Flax NNX can be changed, as lists
can; a change of theirs is a step of training that would be lost without a word.
"""

import collections
from collections.abc import Sequence
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree

_CONTAINERS = (tuple, list, dict, collections.OrderedDict, collections.defaultdict, type(None))
# An object with the leaves that it had.
Noted = list[tuple[Any, Sequence[Any]]]


def note_objects(arguments: PyTree) -> Noted:
    """Return the objects of other libraries' classes in a structure, each with the leaves that it has now."""
    found = jax.tree.leaves(arguments, is_leaf=_is_foreign)
    return [(each, jax.tree.leaves(each)) for each in found if not jax.tree_util.all_leaves([each])]


def check_objects(noted: Noted, result: PyTree) -> None:
    """Raise if objects have been changed, unless the function returns what they have become.

    Args:
        noted: What `note_objects` has returned before the function was called with the arguments.
        result: What the function returns.

    Raises:
        TracingError: If a change would be lost.
    """
    returned = {id(leaf) for leaf in jax.tree.leaves(result)} if noted else ()
    for each, before in noted:
        known = {id(leaf) for leaf in before}
        if any(id(leaf) not in known and id(leaf) not in returned for leaf in jax.tree.leaves(each)):
            raise errors.TracingError(
                "A compiled function changes an argument in place, which is a copy: the change would be lost. "
                "Expected: state in variables (docs/jax_libraries.md), or returned. "
                f"Received: {shown(type(each).__name__)}."
            )


def is_of_outer_module(error: Exception) -> bool:
    """Return whether Flax NNX says that a module belongs to another trace than the one that would change it."""
    return "different trace level" in str(error)


def _is_foreign(node: object) -> bool:
    kind = type(node)
    return (
        kind not in _CONTAINERS
        and not (isinstance(node, tuple) and hasattr(node, "_fields"))
        and kind.__module__.partition(".")[0] not in ("stratax", "jax", "jaxlib", "numpy")
    )
