"""What the trace of a `model_fn` knows of its tensors: which is which, and what they would be now (v1 layer)."""

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import jax
import keras

from stratax import errors
from stratax.core import known, regions


class TraceValues:
    """The tensors of one trace; before it begins, all values are known."""

    def __init__(self) -> None:
        self._known: known.KnownTrace | None = None

    @contextlib.contextmanager
    def follow(self, inputs: object) -> Iterator[None]:
        """Follow what a block computes.

        Args:
            inputs: What the function that is traced is given: results of the trace, too.
        """
        self._known = known.KnownTrace(regions.current_trace())
        with self._known.enter():
            self.number(inputs)
            yield

    def number_of(self, tensor: object) -> int | None:
        """Return which result of this trace a tensor is: the same number in every trace of the function."""
        return None if self._known is None else self._known.number_of(tensor)

    def result(self, number: int) -> Any:
        """Return the tensor of a number."""
        if self._known is None:
            raise IndexError
        return self._known.result(number)

    def constant_of(self, value: object) -> Any:
        """Return the constant that a tensor of this trace is.

        Raises:
            LookupError: If it is none.
        """
        return value if self._known is None else self._known.constant_of(value)

    def variable_of(self, value: object) -> keras.Variable | None:
        """Return the variable that a tensor was read from, before anything was assigned to it; None for others."""
        return None if self._known is None else self._known.variable_of(value)

    def value_now(self, value: object) -> Any:
        """Return what a tensor is when the model is built, for the first value of a variable.

        Raises:
            LookupError: If it depends on features or labels.
        """
        return value if self._known is None else self._known.value_of(value)

    def is_known(self, value: object) -> bool:
        """Return whether a tensor depends neither on features nor on labels."""
        return self._known is None or self._known.is_known(value)

    def value_later(self, value: object) -> Any:
        """Return what a tensor would be with the values that variables have now, after the trace.

        Raises:
            LookupError: If it depends on features or labels.
            BadArgumentError: If it can't be computed again.
        """
        try:
            return value if self._known is None else self._known.value_later(value)
        except known.OpaqueError as error:
            raise errors.BadArgumentError(
                "A metric's value was made by a function with a derivative of its own, which can't be computed once "
                f"more behind the last batch. Expected: plain arithmetic of metrics' values. Received: {error}."
            ) from None

    def note_behind(self, tensor: object, operations: Iterable[Hashable]) -> None:
        """Take note that a tensor, and what is computed of it, is there once operations were run."""
        if self._known is not None:
            self._known.mark(tensor, operations)

    def operations_behind(self, tensor: object) -> list[Any]:
        """Return the operations that a tensor depends on, through whatever it was computed of."""
        return [] if self._known is None else list(self._known.marks_of(tensor))

    def marking(self, operations: Iterable[Hashable]) -> contextlib.AbstractContextManager[None]:
        """Take note that all tensors of a block are there once operations were run."""
        return contextlib.nullcontext() if self._known is None else self._known.marking(operations)

    def leave_unrecorded(self) -> contextlib.AbstractContextManager[Any]:
        """Have what a block computes be none of the trace's results."""
        # What stands for results of the host in the first trace is computed: the results of others have no number.
        return contextlib.nullcontext() if self._known is None else self._known.leave()

    def number(self, made: object) -> None:
        """Have tensors be results of the trace."""
        for leaf in jax.tree.leaves(made):
            if self._known is not None:
                self._known.number(leaf)

    def as_one(self, compute: Callable[[], Any]) -> Any:
        """Return what a function computes, which counts as one result of the trace.

        For what takes more or fewer operations in other traces: where one replica stands for all, or batches are wider.

        Args:
            compute: Computes one tensor, or a list of them, each of which counts as one; None is passed over.
        """
        with self.leave_uncounted():
            made = compute()
        self.number(made)
        return made

    def leave_uncounted(self) -> contextlib.AbstractContextManager[Any]:
        """Leave what a block computes without numbers."""
        return contextlib.nullcontext() if self._known is None else self._known.as_one()
