"""`tf` is TensorFlow 1's in programs that were written for it, told by the names that they ask for (tf layer).

`import tensorflow as tf` says nothing of the version, and some functions mean something else in each: the second
argument of `tf.nn.dropout` is the chance to stay or the chance to go. A program that asks for a name which TensorFlow 2
does not have was written for TensorFlow 1, where `tf` is what `tf.compat.v1` is in TensorFlow 2, with the sizes of
shapes as `Dimension`s.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

# One of these stands in front of every model. `contrib` is none: programs for both look whether it is there.
_OF_THE_FIRST = frozenset(
    {
        "AUTO_REUSE",
        "ConfigProto",
        "GraphKeys",
        "Session",
        "app",
        "flags",
        "get_collection",
        "get_variable",
        "gfile",
        "layers",
        "logging",
        "placeholder",
        "python_io",
        "to_float",
        "trainable_variables",
        "variable_scope",
    }
)
_OWN, _FIRST = "stratax.tf", "stratax.tf.compat.v1"


def telling(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function that finds the names of `tf`, for programs of either generation.

    Args:
        find: Finds a name of TensorFlow 2's.
    """
    changed: set[str] = set()

    def find_of_either(name: str) -> Any:
        if name in changed:
            return getattr(importlib.import_module(_FIRST), name)
        found = find(name)
        if name in _OF_THE_FIRST and not changed and _is_tensorflow():
            changed.update(_become_the_first())
        return found

    return find_of_either


def _is_tensorflow() -> bool:
    return sys.modules.get("tensorflow") is sys.modules[_OWN]


def _become_the_first() -> set[str]:
    """Have shapes be TensorFlow 1's, and return the names that mean something else there."""
    from stratax.base import doors
    from stratax.data.elements import use_dimensions

    use_dimensions(True)
    tables = doors.read_tables(_OWN)
    own, first = tables[_OWN], tables[_FIRST]
    changed = {name for name, origin in first.items() if own.get(name, origin) != origin}
    for name in changed:
        # What was asked for already is kept beside the function that finds it.
        vars(sys.modules[_OWN]).pop(name, None)
    return changed
