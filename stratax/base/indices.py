"""Which indices and dimensions are out of range, where their values are known (a low layer)."""

import dataclasses
import functools
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size
from stratax.errors import BadArgumentError, BadTypeError


def is_known(value: Any) -> bool:
    """Return whether this process can look at the values of numbers now, rather than when a compiled program runs."""
    if isinstance(value, list | tuple):
        return all(map(is_known, value))
    # By protocol: also what stands for an array of NumPy while a function of a pipeline is examined.
    if isinstance(value, bool | int | float | np.generic) or hasattr(type(value), "__array_ufunc__"):
        return True
    # Without JAX there are no arrays of it, and a data pipeline need not import it.
    jax = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer):
        return False
    return bool(value.is_fully_addressable)


def dim_of(axis: Any, rank: int, name: str = "axis") -> int:
    """Return a dimension's number, counted from the first.

    Args:
        axis: The number; a negative one counts from the end.
        rank: How many dimensions there are.
        name: The argument's name.

    Raises:
        BadTypeError: If it is no whole number.
        BadArgumentError: If there is no such dimension.
    """
    try:
        number = operator.index(axis)
    except TypeError as e:
        raise BadTypeError(f"{name} must be a whole number. Received: {name}={shown(axis)}.") from e
    if not -rank <= number < rank:
        raise BadArgumentError(
            f"There is no such dimension. Expected: {name} from {-rank} to {rank - 1}. Received: {name}={number}."
        )
    return number % rank


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A range that whole numbers have to lie in.

    Attributes:
        low: The first number of the range, or None if there is none.
        high: The number behind the last.
        describe: Makes the message of all numbers, of one that is out of range, and of where it stands.
    """

    low: int | None
    high: int
    describe: Callable[[np.ndarray, float, str], str]

    def holds(self, numbers: np.ndarray) -> bool:
        """Return whether all numbers are in the range; of fractions, their whole part."""
        if not numbers.size:
            return True
        if self.low == 0 and type(numbers) is np.ndarray and numbers.dtype.kind == "i":
            # One pass instead of two: a negative number is a large one without its sign.
            return bool(numbers.view(f"u{numbers.dtype.itemsize}").max() < self.high)
        # NaN is in no range.
        return bool((self.low is None or numbers.min() > self.low - 1) and numbers.max() < self.high)

    def check(self, numbers: np.ndarray, lead: Sequence[str] = ()) -> None:
        """Raise if a number is out of range.

        Args:
            numbers: The numbers.
            lead: What their first dimensions count that the message names apart.

        Raises:
            BadArgumentError: The first one that is.
        """
        if self.holds(numbers):
            return
        given = np.asarray(numbers)
        is_in = (given < self.high) & (True if self.low is None else given > self.low - 1)
        wrong = np.argwhere(~is_in)[0]
        # What is no number has no whole part.
        whole = given.astype(np.int64) if np.all(np.isfinite(given)) else given
        own = wrong[len(lead) :]
        place = f"[{','.join(map(str, own))}]" if len(own) else ""
        beside = ", ".join(f"{name} {part}" for name, part in zip(lead, wrong, strict=False))
        shown_there = whole[tuple(wrong[: len(lead)])]
        message = self.describe(shown_there, whole[tuple(wrong)].item(), place)
        raise BadArgumentError(f"{message} It was given to {beside} of the call." if beside else message)


# Told of numbers that are known only when a compiled program runs, with their `Bound`. JAX need not be there.
_listeners: list[Callable[[Any, Bound], None]] = []


def tell_of_unknown(listener: Callable[[Any, Bound], None]) -> None:
    """Have a function be told of numbers that can't be looked at when they are checked."""
    _listeners.append(listener)


def check_bound(numbers: Any, bound: Bound) -> None:
    """Raise for known numbers that are out of range; have the program that is being traced watch for others.

    Args:
        numbers: Whole numbers, which may have the dtype of fractions.
        bound: The range.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    if is_known(numbers):
        bound.check(numbers if hasattr(type(numbers), "__array_ufunc__") else np.asarray(numbers))
        return
    for listener in _listeners:
        listener(numbers, bound)


def check_indices(index: Sequence[Any], shape: Sequence[int]) -> None:
    """Raise for indices that are not in an array, as TensorFlow does on a CPU, where they are known.

    NumPy counts negative ones from the end, and JAX answers with NaN or leaves out what is to be assigned. What a
    compiled function is given is looked at before it runs.

    Args:
        index: Arrays of whole numbers, one for each of the first dimensions.
        shape: The array's shape.

    Raises:
        BadArgumentError: If one is out of range.
    """
    for part, size in zip(index, shape, strict=False):
        # How large one is that values decide is known when the program runs.
        if type(size) is int or not is_symbolic_size(size):
            check_bound(part, Bound(0, size, functools.partial(_not_in_array, size, tuple(shape))))


def _not_in_array(size: int, shape: tuple[int, ...], numbers: np.ndarray, wrong: float, place: str) -> str:
    return (
        f"An index is out of range: indices{place} = {wrong} is not in [0, {size}) in an array of shape {shape}. "
        f"Received: {shown(numbers)}."
    )


def check_labels(labels: Any, count: int) -> None:
    """Raise for a label that is not the number of a class, where it is known or is given to a compiled function.

    Args:
        labels: Whole numbers, which may have the dtype of fractions.
        count: How many classes there are.

    Raises:
        BadArgumentError: As TensorFlow on a CPU.
    """
    check_bound(labels, Bound(0, count, functools.partial(_no_class, count)))


def _no_class(count: int, numbers: np.ndarray, wrong: float, place: str) -> str:
    return (
        f"Received a label value of {wrong} which is outside the valid range of [0, {count}): labels{place} = {wrong}. "
        f"Label values: {shown(numbers)}. Give the logits a number for each class."
    )
