"""`TensorShape`: a shape with the methods that TensorFlow's has (data layer)."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard

from stratax.base.callers import is_library
from stratax.base.shown import shown
from stratax.base.tracing import is_symbolic_size
from stratax.errors import BadArgumentError, BadTypeError

Shape = tuple[int | None, ...]


def as_shape(shape: Any) -> Shape | None:
    """Return a shape as a tuple of sizes, `None` for a size that is not known; `None` for an unknown rank."""
    if type(shape) is TensorShape:
        return tuple(shape)
    # Of TensorFlow's shapes, too, the rank says whether there is one.
    if shape is None or getattr(shape, "rank", 0) is None:
        return None
    if isinstance(shape, int) and not isinstance(shape, bool):
        # As in TensorFlow: one size is a shape of one dimension.
        shape = (shape,)
    try:
        # Nearly all sizes are plain numbers or None, which need no look at what they stand for.
        sizes = tuple(
            [size if size is None or (type(size) is int and size >= 0) else _size_of(size) for size in shape]
        )
    except TypeError as e:
        raise BadTypeError(
            f"A shape is a sequence of sizes (None where a size is not known). Received: shape={shown(shape)}. "
            "Pass a tuple such as (None, 28, 28)."
        ) from e
    for size in sizes:
        if isinstance(size, int) and size < 0:
            raise BadArgumentError(
                f"The sizes of a shape are not negative. Received: shape={shown(shape)}. Use None for an unknown size."
            )
    return sizes


def _are_sizes(shape: object) -> TypeGuard[tuple[int, ...]]:
    """Return whether it is a plain tuple of known sizes, which is a shape as it stands."""
    return type(shape) is tuple and set(map(type, shape)) <= {int} and min(shape, default=0) >= 0


def _size_of(size: Any) -> Any:
    # A symbol of JAX stays: what is computed from it is the shape of something else.
    if is_symbolic_size(size):
        return size
    return None if size is None or size == -1 else int(size)


class Dimension(int):
    """A size of a shape, as `tf.compat.v1.Dimension`: a number, with itself as `value`."""

    @property
    def value(self) -> int:
        """The size as a plain number."""
        return int(self)

    def __repr__(self) -> str:
        return f"Dimension({int(self)})"

    def __str__(self) -> str:
        return int.__repr__(self)


class _First:
    # Whether a program wants the shapes of TensorFlow 1: of the process, as there.
    is_wanted = False


def use_dimensions(is_wanted: bool) -> None:
    """Have programs find `Dimension`s where they index shapes, as TensorFlow 1's, instead of plain numbers."""
    _First.is_wanted = is_wanted
    # No frame of Python's where a shape is a plain tuple.
    if is_wanted:
        TensorShape.__iter__ = _iterate  # type: ignore[assignment, method-assign]
    elif "__iter__" in vars(TensorShape):
        del TensorShape.__iter__


def _iterate(shape: "TensorShape") -> Iterator[Any]:
    sizes = tuple.__iter__(shape)
    if is_library(sys._getframe(1).f_code.co_filename):
        return sizes
    return iter([Dimension(size) if type(size) is int else size for size in sizes])


class TensorShape(tuple[int | None, ...]):
    """A shape, as `tf.TensorShape`: a tuple of sizes, `None` where one is not known.

    It can be used wherever a shape is taken. As a tuple it is false where it has no sizes, unlike TensorFlow's.

    Args:
        dims: The sizes; one number for a single size; None where not even the rank is known.

    Raises:
        BadArgumentError: If a size is negative.

    Example:
        >>> from stratax.data import TensorShape
        >>> TensorShape([None, 28]).merge_with([32, None])
        TensorShape([32, 28])
    """

    __slots__ = ()

    def __new__(cls, dims: Iterable[Any] | int | None) -> "TensorShape":
        """Make a shape of sizes."""
        sizes = as_shape([dims] if isinstance(dims, int) else dims)
        # What the methods of a tuple say would be wrong without a rank.
        return _UNKNOWN if sizes is None else tuple.__new__(TensorShape, sizes)

    @property
    def rank(self) -> int | None:
        """How many dimensions there are; None if that is not known."""
        return len(self)

    @property
    def ndims(self) -> int | None:
        """How many dimensions there are; None if that is not known."""
        return self.rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes as `Dimension`s, None where unknown; None as a whole without a rank."""
        if self.rank is None:
            return None
        return [Dimension(size) if isinstance(size, int) else size for size in self]

    def as_list(self) -> list[int | None]:
        """Return the sizes in a list.

        Raises:
            BadArgumentError: If the rank is not known.
        """
        return list(self)

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return self.rank is not None and None not in self

    def num_elements(self) -> int | None:
        """Return how many elements such an array has; None if a size is not known."""
        if self.rank is None:
            return None
        sizes = [size for size in self if size is not None]
        return math.prod(sizes) if len(sizes) == len(self) else None

    def is_compatible_with(self, other: object) -> bool:
        """Return whether an array can have both shapes; one of unknown rank (None) agrees with all."""
        sizes = as_shape(other)
        if sizes is None or self.rank is None:
            return True
        return len(sizes) == len(self) and all(
            a is None or b is None or a == b for a, b in zip(self, sizes, strict=True)
        )

    def is_subtype_of(self, other: object) -> bool:
        """Return whether every array of this shape has the other shape, too."""
        sizes = as_shape(other)
        if sizes is None or self.rank is None:
            return sizes is None
        return len(sizes) == len(self) and all(b is None or a == b for a, b in zip(self, sizes, strict=True))

    def merge_with(self, other: object) -> "TensorShape":
        """Return the shape that has what is known of this one and of another.

        Raises:
            BadArgumentError: If no array can have both shapes.
        """
        self.assert_is_compatible_with(other)
        sizes = as_shape(other)
        if sizes is None:
            return self
        if self.rank is None:
            return TensorShape(sizes)
        return TensorShape([b if a is None else a for a, b in zip(self, sizes, strict=True)])

    def most_specific_compatible_shape(self, other: object) -> "TensorShape":
        """Return the shape that arrays of this shape and of another both have: sizes that differ are not known."""
        sizes = as_shape(other)
        if sizes is None or self.rank != len(sizes):
            return _UNKNOWN
        return TensorShape([a if a == b else None for a, b in zip(self, sizes, strict=True)])

    def most_specific_common_supertype(self, others: Sequence[Any]) -> "TensorShape":
        """Return the shape that arrays of this shape and of all others have."""
        common = self
        for other in others:
            common = common.most_specific_compatible_shape(other)
        return common

    def concatenate(self, other: object) -> "TensorShape":
        """Return the shape with the sizes of another one behind its own."""
        sizes = as_shape([other] if isinstance(other, int) else other)
        return _UNKNOWN if sizes is None or self.rank is None else TensorShape([*self, *sizes])

    def with_rank(self, rank: int) -> "TensorShape":
        """Return the shape, whose rank has to be `rank`.

        Raises:
            BadArgumentError: If it has another one.
        """
        return self.merge_with([None] * rank)

    def with_rank_at_least(self, rank: int) -> "TensorShape":
        """Return the shape, whose rank has to be `rank` or more.

        Raises:
            BadArgumentError: If it has a smaller one.
        """
        return self._check(self.rank is None or self.rank >= rank, f"a rank of at least {rank}")

    def with_rank_at_most(self, rank: int) -> "TensorShape":
        """Return the shape, whose rank has to be `rank` or less.

        Raises:
            BadArgumentError: If it has a larger one.
        """
        return self._check(self.rank is None or self.rank <= rank, f"a rank of at most {rank}")

    def assert_has_rank(self, rank: int) -> None:
        """Raise unless the rank is `rank`, or not known.

        Raises:
            BadArgumentError: If it is another one.
        """
        self._check(self.rank is None or self.rank == rank, f"rank {rank}")

    def assert_same_rank(self, other: object) -> None:
        """Raise unless another shape has as many dimensions, as far as is known.

        Raises:
            BadArgumentError: If it has more or fewer.
        """
        sizes = as_shape(other)
        if sizes is not None:
            self._check(self.rank is None or self.rank == len(sizes), f"the rank of {sizes}")

    def assert_is_compatible_with(self, other: object) -> None:
        """Raise unless an array can have both shapes.

        Raises:
            BadArgumentError: If none can.
        """
        if not self.is_compatible_with(other):
            raise BadArgumentError(
                "No array has both of these shapes. Expected: shapes whose known sizes agree. Received: "
                f"{shown(self)} and {shown(other)}. Correct one of them, or reshape the array."
            )

    def assert_is_fully_defined(self) -> None:
        """Raise unless every size is known.

        Raises:
            BadArgumentError: If one is not.
        """
        self._check(self.is_fully_defined(), "a shape whose sizes are all known")

    def _check(self, is_right: bool, expected: str) -> "TensorShape":
        if not is_right:
            raise BadArgumentError(
                f"A shape is not as expected. Expected: {expected}. Received: {shown(self)}. Correct the shape, or "
                "change the array with tf.reshape."
            )
        return self

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        if (
            _First.is_wanted
            and type(found) is int
            # JAX compares the types of sizes.
            and not is_library(sys._getframe(1).f_code.co_filename)
        ):
            return Dimension(found)
        return tuple.__new__(TensorShape, found) if type(found) is tuple else found

    def __add__(self, other: object) -> "TensorShape":  # type: ignore[override]
        return self.concatenate(other) if isinstance(other, (tuple, list)) else NotImplemented

    def __radd__(self, other: object) -> Any:
        # JAX goes on with `sizes += x.shape`, a list that has to stay one.
        if isinstance(other, list):
            return [*other, *self]
        # What it adds to sizes of its own, at nearly every operation.
        if type(self) is TensorShape and _are_sizes(other):
            return tuple.__new__(TensorShape, tuple.__add__(other, self))
        return TensorShape(other).concatenate(self) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        # Lists are shapes in TensorFlow.
        if type(other) is list:
            return tuple.__eq__(self, tuple(other))
        return not isinstance(other, _UnknownRank) and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __reduce__(self) -> Any:
        return TensorShape, (None if self.rank is None else tuple(self),)

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"

    def __str__(self) -> str:
        return tuple.__repr__(self)


class _UnknownRank(TensorShape):
    """The shape of which nothing is known."""

    __slots__ = ()

    @property
    def rank(self) -> None:
        return None

    def as_list(self) -> list[int | None]:
        raise self._error("as_list()")

    def __len__(self) -> int:
        raise self._error("len()")

    def __iter__(self) -> Iterator[int | None]:
        raise self._error("iteration")

    def __bool__(self) -> bool:
        return False

    def __contains__(self, size: object) -> bool:
        return False

    def __getitem__(self, key: object) -> Any:
        if not isinstance(key, slice):
            return None
        start, stop = key.start or 0, key.stop
        # As in TensorFlow: counted from the front, the slice has a length.
        if stop is None or start < 0 or stop < 0 or key.step not in (None, 1):
            return self
        return TensorShape([None] * max(stop - start, 0))

    def __eq__(self, other: object) -> bool:
        return other is self

    def __hash__(self) -> int:
        return hash(_UnknownRank)

    def __repr__(self) -> str:
        return "TensorShape(None)"

    def __str__(self) -> str:
        return "<unknown>"

    @staticmethod
    def _error(what: str) -> BadArgumentError:
        return BadArgumentError(
            f"A shape of unknown rank has no {what}. Expected: a shape whose rank is known. Received: "
            "TensorShape(None). Give the shape with set_shape, or look at `shape.rank` first."
        )


_UNKNOWN = tuple.__new__(_UnknownRank)
