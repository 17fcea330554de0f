"""What a region raises where input can't be taken in it (core layer)."""

from typing import Any, NoReturn

import jax

from stratax.base.shown import shown
from stratax.errors import TracingError


class PythonOnlyError(TracingError):
    """A compiled function needs what only Python can: datasets of datasets, of text, or of what it computes."""


class Untraceable:
    """Stands for an iteration that Python would do while a function is traced, once for all its calls.

    Args:
        stream: What is iterated.
    """

    def __init__(self, stream: object) -> None:
        self._stream = stream

    def __iter__(self) -> "Untraceable":
        return self

    def __next__(self) -> Any:
        raise TracingError(
            "A compiled function goes through an iterator or dataset in Python's way (a comprehension, `list`, `zip`, "
            "or a loop in code that is not converted): that would happen once, while it is traced, and every call "
            "would see the same elements. Expected: `for ... in` as a statement, or `next(iterator)`, in a function "
            "whose control flow is converted (autograph=True, its source at hand). "
            f"Received: {shown(self._stream)}."
        )


def refuse_element(stream: object) -> NoReturn:
    """Raise why a region can't take an element of a stream."""
    specs = jax.tree.leaves(getattr(stream, "element_spec", ()))
    raise (PythonOnlyError if any(map(_is_of_dataset, specs)) else TracingError)(
        "next(iterator) was called inside a part of a compiled function that can't take input. Expected: in the "
        "function's own body or in a loop over `stratax.range`, outside of `strategy.run`. "
        f"Received: iterator={shown(stream)}. Take the element first and hand it to `strategy.run(fn, "
        "args=(element,))`."
    )


def refuse_unknown(spec: object) -> NoReturn:
    """Raise why a component is not known well enough, of a dataset that has no element."""
    raise (PythonOnlyError if _is_of_dataset(spec) else TracingError)(
        "A compiled function takes elements of a dataset that has none and does not say what they look like. "
        f"Expected: components of numbers with shapes. Received: {shown(spec)}. Give the dataset elements, or "
        "a signature."
    )


def _is_of_dataset(spec: object) -> bool:
    return hasattr(spec, "element_spec")
