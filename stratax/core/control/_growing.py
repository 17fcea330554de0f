"""What loops know of arrays that get their shape from what is written to them first (core layer; imports no JAX)."""

import dataclasses


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
