"""Values that wait for variables which do not exist yet (core layer).

A restored checkpoint may hold values of layers that are built later. Before a program runs, what waits is asked to
look again if variables have been created since.
"""

import functools
from collections.abc import Callable
from typing import Protocol

from stratax.seams import keras as seam


class Waiting(Protocol):
    """Values that wait for their variables."""

    def settle(self) -> bool:
        """Give the variables that there are by now their values. Return whether nothing is left to wait for."""


# What waits. Whoever runs programs looks at it, and calls :func:`settle_before_run` where it is not empty.
awaited: list[Waiting] = []
_created = [0]
_seen = [0]


def wait(values: Waiting) -> None:
    """Have `values` asked before programs run, until nothing of them is left.

    Args:
        values: What waits.
    """
    # Installed when it is first needed: programs that restore nothing pay nothing.
    _count_variables()
    # No number of variables, so that the next run looks in any case.
    _seen[0] = -1
    awaited.append(values)


def forget(values: Waiting) -> None:
    """Have `values` not be asked any more."""
    # In place, and by identity: others hold the list, and values may compare equal.
    awaited[:] = [each for each in awaited if each is not values]


def waiting() -> tuple[Waiting, ...]:
    """Return the values that wait."""
    return tuple(awaited)


def settle() -> None:
    """Give variables the values that wait for them."""
    for values in list(awaited):
        if values.settle():
            forget(values)


def settle_before_run() -> None:
    """Settle values at a point that is passed often: only if there are new variables."""
    created = _created[0]  # Before: another thread may create variables meanwhile.
    if awaited and _seen[0] != created:
        settle()
        _seen[0] = created


def _count_variables() -> None:
    seam.install("stratax.core", {"keras:Variable.__init__": _wrap_counted})


def _wrap_counted(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: object, *args: object, **kwargs: object) -> None:
        _created[0] += 1
        original(self, *args, **kwargs)

    return __init__
