"""`TensorShape`: a shape with the methods that TensorFlow's has (data layer)."""

import math
from collections.abc import Iterable
from typing import Any

from stratax._shown import shown
from stratax.data.elements._spec import as_shape
from stratax.errors import BadArgumentError


class TensorShape(tuple[int | None, ...]):
    """A shape, as `tf.TensorShape`: a tuple of sizes, `None` where one is not known.

    It can be used wherever a shape is taken. Its rank is always known; write `None` for a shape of unknown rank.

    Args:
        dims: The sizes.

    Raises:
        BadArgumentError: If the rank is not known, or a size is negative.

    Example:
        >>> from stratax.data import TensorShape
        >>> TensorShape([None, 28]).merge_with([32, None])
        TensorShape([32, 28])
    """

    def __new__(cls, dims: Iterable[Any] | int) -> "TensorShape":
        """Make a shape of sizes."""
        sizes = as_shape([dims] if isinstance(dims, int) else dims)
        if sizes is None:
            raise BadArgumentError(
                "A TensorShape has a rank. Expected: a list of sizes. Received: dims=None. Pass None itself where the "
                "rank is not known."
            )
        return super().__new__(cls, sizes)

    @property
    def rank(self) -> int:
        """How many dimensions there are."""
        return len(self)

    @property
    def ndims(self) -> int:
        """How many dimensions there are."""
        return len(self)

    @property
    def dims(self) -> list[int | None]:
        """The sizes of the dimensions, None where unknown."""
        return list(self)

    def as_list(self) -> list[int | None]:
        """Return the sizes in a list."""
        return list(self)

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return None not in self

    def num_elements(self) -> int | None:
        """Return how many elements such an array has; None if a size is not known."""
        sizes = [size for size in self if size is not None]
        return math.prod(sizes) if len(sizes) == len(self) else None

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether an array can have both shapes; one of unknown rank (None) agrees with all."""
        sizes = as_shape(other)
        return sizes is None or (
            len(sizes) == len(self)
            and all(a is None or b is None or a == b for a, b in zip(self, sizes, strict=True))
        )

    def merge_with(self, other: Any) -> "TensorShape":
        """Return the shape that has what is known of this one and of another.

        Raises:
            BadArgumentError: If no array can have both shapes.
        """
        if not self.is_compatible_with(other):
            raise BadArgumentError(
                f"No array has both of these shapes. Expected: shapes whose known sizes agree. Received: {shown(self)} "
                f"and {shown(other)}. Correct one of them, or reshape the array."
            )
        sizes = as_shape(other)
        if sizes is None:
            return self
        return TensorShape([b if a is None else a for a, b in zip(self, sizes, strict=True)])

    def concatenate(self, other: Any) -> "TensorShape":
        """Return the shape with the sizes of another one behind its own."""
        return TensorShape([*self, *TensorShape(other)])

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return TensorShape(found) if isinstance(key, slice) else found

    def __repr__(self) -> str:
        return f"TensorShape({list(self)})"
