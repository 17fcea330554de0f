"""Text in distributed batches: it stays on the host, and no program takes it (distribute layer)."""

from collections.abc import Callable
from typing import Any, NoReturn

from stratax.core import known, regions
from stratax.distribute.input._steps import StepKind
from stratax.distribute.replicas import PerReplica


def is_text(leaf: object) -> bool:
    """Return whether a value, or a component of each replica's, is text."""
    return known.is_text(leaf.array if isinstance(leaf, PerReplica) else leaf)


def place_numbers(
    place: Callable[[list[Any], StepKind], list[Any]], leaves: list[Any], kind: StepKind
) -> list[Any]:
    """Place what devices can hold of a step that was refused; text becomes tensors on the host.

    Args:
        place: Places arrays of numbers.
        leaves: The arrays of the step.
        kind: How they belong to the replicas.
    """
    if not known.is_taken(leaves):
        return place(leaves, kind)
    numbers = iter(place([leaf for leaf in leaves if not known.is_text(leaf)], kind))
    return [known.as_result(leaf) if known.is_text(leaf) else next(numbers) for leaf in leaves]


def refuse_text() -> NoReturn:
    """Raise why no program takes steps with text."""
    raise regions.PythonOnlyError(
        "A compiled function takes numbers from a distributed dataset. Received: a step with text. Leave it out, or "
        "turn it into numbers, in a `map` before the strategy divides the dataset."
    )
