"""Summaries as values: what TensorFlow 1's operations stand for (summary layer).

A :class:`SummaryRecord` holds arrays, and knows what message becomes of them. It is a pytree: a compiled step returns
it as it returns an array, and its message is made where the step's results are.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.errors import BadTypeError
from stratax.summary._packages import new_summary


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """What message becomes of arrays; compared by identity, as structures are."""

    name: str
    encode: Callable[..., Any]


@jax.tree_util.register_pytree_node_class
class SummaryRecord:
    """A summary of a step: `tf.compat.v1.summary.scalar` and its like return it.

    Args:
        name: The tag.
        arrays: What it is made of.
        encode: Makes the `Summary` message of the arrays' values.

    Attributes:
        name: The tag.
        arrays: What it is made of; tracers while a step is traced.
    """

    def __init__(self, name: str, arrays: Sequence[Any], encode: Callable[..., Any]) -> None:
        self.name = name
        self.arrays = tuple(arrays)
        self._form = _Form(name, encode)

    def __repr__(self) -> str:
        return f"<summary {shown(self.name)}>"

    def to_proto(self) -> Any:
        """Return the `Summary` message; waits for the arrays."""
        return self._form.encode(*map(np.asarray, self.arrays))

    def tree_flatten(self) -> tuple[tuple[Any, ...], _Form]:
        """Return the arrays, and what they are for: for JAX."""
        return self.arrays, self._form

    @classmethod
    def tree_unflatten(cls, form: _Form, arrays: Sequence[Any]) -> "SummaryRecord":
        """Return the record of other arrays: for JAX."""
        record = object.__new__(cls)
        record.name, record.arrays, record._form = form.name, tuple(arrays), form
        return record


def merge_records(records: Sequence[Any], name: str = "Merge/MergeSummary") -> SummaryRecord:
    """Return several records as one, as `tf.compat.v1.summary.merge` does.

    Raises:
        BadTypeError: If one of them is none.
    """
    for record in records:
        if not isinstance(record, SummaryRecord):
            raise BadTypeError(
                "Only summaries can be merged. Expected: what `summary.scalar` and its like return. "
                f"Received: {shown(record)} ({type(record).__name__})."
            )
    sizes = [len(record.arrays) for record in records]
    forms = [record._form for record in records]

    def encode(*arrays: object) -> Any:
        message, start = new_summary(), 0
        for form, size in zip(forms, sizes, strict=True):
            message.MergeFrom(form.encode(*arrays[start : start + size]))
            start += size
        return message

    return SummaryRecord(name, [array for record in records for array in record.arrays], encode)
