"""The sizes of the two blank examples by which it is found out what calls on the host give (export layer)."""

import itertools
from typing import Any

import numpy as np

from stratax.base.tracing import is_symbolic_size
from stratax.errors import BadTypeError
from stratax.seams.jax_sizes import size_of

BATCH = "batch"
# In the two blank examples: unknown sizes differ between them, and from one another, so far that parts of them do too.
_BATCHES = (5, 7)
_FIRST_SIZES = (1031, 1543)
# Of what is never large, such as the channels of an image.
_FIRST_SMALL_SIZES = (11, 17)


class BlankSizes:
    """Which sizes in the blank examples stand for which sizes that are not known.

    Args:
        prefix: What names of sizes begin with.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._counts = itertools.count()
        self._dims: dict[tuple[int, int], str] = {_BATCHES: BATCH}

    def of_rows(self, prefix: str) -> "BlankSizes":
        """Return those of rows: the same, but that new ones have names of their own.

        Args:
            prefix: What these begin with.
        """
        made = BlankSizes(prefix)
        made._dims, made._counts = self._dims, self._counts
        return made

    def dims_of(self, id: str, blanks: tuple[np.ndarray, np.ndarray]) -> tuple[int | str, ...]:
        """Return the sizes of a value, by those that it has in the blank examples."""
        first, second = (blank.shape for blank in blanks)
        if len(first) != len(second):
            raise BadTypeError(
                f"The number of dimensions of a value of the host is not known. Received: {id} of shapes like {first}, "
                f"{second}."
            )
        return tuple(
            one if one == other else self._dims.setdefault((one, other), f"{self._prefix}d{len(self._dims)}")
            for one, other in zip(first, second, strict=True)
        )

    def pair_of(self, dim: int | str) -> tuple[int, int]:
        """Return what a size is in the two examples."""
        if isinstance(dim, int):
            return dim, dim
        known = next((sizes for sizes, name in self._dims.items() if name == dim), None)
        if known is None:
            known = self.new()
            self._dims[known] = dim
        return known

    def new(self, *, are_small: bool = False) -> tuple[int, int]:
        """Return sizes in the blank examples that stand for one that is not known."""
        count = next(self._counts)
        first, second = _FIRST_SMALL_SIZES if are_small else _FIRST_SIZES
        # With a square, so that sums of two differ from sums of two others.
        made = first + 8 * count, second + 24 * count + count**2
        # Every other one is longer, so that ratios differ, too: of an image's height and width.
        return made if are_small or not count % 2 else (made[0], made[1] * 7 // 5)

    def array(self, value: Any, which: int) -> np.ndarray:
        """Return an array of the program as a blank example has it.

        Args:
            value: The array.
            which: The example.
        """
        return np.zeros(self.size(np.asarray(value.shape, object), which), value.dtype)

    def size(self, sizes: object, which: int) -> np.ndarray:
        """Return a size, or an array of sizes, as a blank example has it."""

        def of_name(name: str) -> int:
            return self.pair_of(name)[which]

        array = np.asarray(sizes, object)
        known = [size_of(size, of_name) if is_symbolic_size(size) else int(size) for size in array.flat]
        return np.array(known, np.int32).reshape(array.shape)[()]
