"""What loops know of arrays that get their shape from what is written to them first (core layer; imports no JAX)."""

import dataclasses
from collections.abc import Callable
from typing import Any

from stratax.errors import BadArgumentError

# What is told of branches and loops where Python runs them, with their locals; set by whoever asks what they leave out.
WATCHING: list[Callable[..., bool]] = []


class RunAgainError(BadArgumentError):
    """A function that Python runs lacks what it would know if it was rewritten, as by `rewritten(function)`."""

    rewritten: Callable[[Callable[..., Any]], Callable[..., Any]]


def is_watched(kind: str, *what: Any) -> bool:
    """Tell what Python is about to run, and return whether somebody else has run it."""
    return any(watch(kind, *what) for watch in WATCHING)


class Growing:
    """Base class of such arrays, which functions of nested structures take for leaves."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unallocated:
    """Stands among the arrays of a loop for one that nothing has been written to.

    A loop whose body writes to it begins with zeros of the shape that the body gives it.

    Attributes:
        size: How many elements it has.
    """

    size: int
