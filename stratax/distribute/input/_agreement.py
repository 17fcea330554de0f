"""What workers tell one another before each stretch of steps, and examples that they exchange (distribute layer)."""

import dataclasses
import json
import threading
from collections.abc import Callable

import numpy as np

from stratax import errors
from stratax.data.elements import decode_records, encode_columns
from stratax.distribute.input._steps import StepKind, Steps

# Gives every worker all workers' values under one name: `exchange(name, value, stop)`.
Exchange = Callable[[str, bytes, threading.Event], list[bytes]]


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """Says what a worker has ready.

    Attributes:
        steps: How many whole steps of one structure.
        key: Their structure.
        rows: How many examples its next step has; 0 at the end.
        failure: What went wrong in reading, or an empty text.
        arrays: Of how many arrays an example consists; -1 if the worker has none, and its dataset does not say.
        widths: How wide its arrays are that are filled up to the widest of all workers'.
    """

    steps: int
    key: str
    rows: int
    failure: str = ""
    arrays: int = -1
    widths: tuple[int, ...] = ()

    def to_bytes(self) -> bytes:
        """Return it as it is sent."""
        return json.dumps(dataclasses.astuple(self)).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> "Offer":
        """Return what was sent."""
        steps, key, rows, failure, arrays, widths = json.loads(text)
        return cls(steps, key, rows, failure, arrays, tuple(widths))


def rows_of_step(steps: Steps) -> int:
    """Return how many examples each of the steps has here."""
    shape = steps.leaves[0].shape
    return int(shape[1] * shape[2] if steps.kind is StepKind.SPREAD else shape[1])


def rows_of(steps: Steps) -> list[np.ndarray]:
    """Return the examples of a block of one step."""
    if steps.kind is StepKind.SPREAD:
        return [leaf.reshape(-1, *leaf.shape[3:]) for leaf in steps.leaves]
    return [leaf[0] for leaf in steps.leaves]


def pack_step(leaves: list[np.ndarray]) -> bytes:
    """Return a step's examples as bytes: the names of their dtypes in a line, then shapes and values."""
    names = " ".join(leaf.dtype.name for leaf in leaves).encode()
    # Dtypes by name first, as the encoding itself notes shapes only.
    return names + b"\n" + encode_columns([leaf[None] for leaf in leaves], 1)[1][0] if leaves else b""


def unpack_step(text: bytes) -> list[np.ndarray]:
    """Return the examples that :func:`pack_step` has put into bytes."""
    names, _, record = text.partition(b"\n")
    if not record:
        return []
    block = decode_records([record], [np.dtype(name) for name in names.decode().split()])
    return [column[0] for column in block.columns()]


def check_structures(offers: list[Offer]) -> None:
    """Refuse a step of which a worker can't take its part, in all workers: else the others would wait for it."""
    # Of a worker that has examples: it knows.
    expected = max(offer.arrays for offer in offers if offer.rows)
    for index, offer in enumerate(offers):
        if not offer.rows and offer.arrays != expected:
            raise errors.DataError(
                f"The dataset of worker {index} has no elements (left) and does not say what they would look like, so "
                f"it can't take its part of the others' examples. Expected: an element_spec of {expected} arrays. "
                f"Received: {'none' if offer.arrays < 0 else f'one of {offer.arrays}'}. Give every worker data, or a "
                "stratax.data.Dataset."
            )


def check_alike(parts: list[list[np.ndarray]]) -> None:
    """Refuse examples of several workers that can't be rows of one batch."""
    kinds = {
        index: ", ".join(f"{leaf.dtype}{list(leaf.shape[1:])}" for leaf in part)
        for index, part in enumerate(parts)
        if part
    }
    if len(set(kinds.values())) > 1:
        listing = "; ".join(f"worker {index}: {kind}" for index, kind in kinds.items())
        raise errors.DataError(
            "The workers' examples for one step differ, so they can't be divided anew. Expected: one shape and dtype "
            f"of examples in all workers. Received: {listing}. Pad the examples to one shape, or give every worker "
            "as many."
        )
