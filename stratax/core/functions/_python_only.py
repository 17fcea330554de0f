"""Functions that need what no program can, such as datasets out of a dataset, and run in Python (core layer)."""

import warnings
from collections.abc import Callable
from typing import Any

import jax

from stratax.base.shown import shown
from stratax.base.surroundings import Slot
from stratax.core.known import as_result

# Whether what runs in Python is such a function, and so a graph in TensorFlow.
IN_PYTHON: Slot[bool] = Slot("run in Python", False)
# Of how many kinds of arguments a function remembers that it can't be compiled.
_MOST = 256


def note_python_only(function: Callable[..., Any], keys: set[Any], key: object) -> None:
    """Remember that a function can't be compiled for a kind of arguments, and warn of it once.

    Args:
        function: The function.
        keys: The kinds that were found before.
        key: The kind.
    """
    if not keys:
        warnings.warn(
            f"{shown(function)} takes datasets or text out of a dataset, or makes one of what it computes: it runs in "
            "Python, operation by operation. Put what computes in a function of its own, which is compiled.",
            stacklevel=3,
        )
    if len(keys) >= _MOST:
        keys.clear()
    keys.add(key)


def run_python_only(run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function in Python; return what it gives, as a program would."""
    with IN_PYTHON.holding(True):
        return jax.tree.map(as_result, run(args, kwargs))
