"""Functions that do nothing but hand their batch to a known operation, found out by calling them once (data layer).

What parsing costs is mostly a number of operations for each batch, however small it is. Where a function hands its
batch to an operation that takes several batches at a time (`parse_example`), and gives back nothing but parts of the
result, that operation is called for several batches as one.
"""

from collections.abc import Callable, Sequence
from typing import Any, Self

from stratax.data.elements import Composite, Row, Structure, flatten, map_parts, parts_of
from stratax.data.vectorise._batched_element import CannotVectorise

# Gives a result for each of several batches.
Operation = Callable[[Sequence[Any]], Sequence[Any]]


def _refuse(self: object, *args: object, **kwargs: object) -> Any:
    raise CannotVectorise


class ResultPart:
    """Stands for a part of the result that an operation will give.

    Args:
        call: The number of the call, as :meth:`BatchToCome.call` gave it.
        path: Keys and indices that lead to the part.
    """

    def __init__(self, call: int, *path: object) -> None:
        self.call = call
        self.path = path

    # Whoever looks at a value has to be given one.
    __bool__ = __int__ = __float__ = __index__ = __iter__ = __array__ = __len__ = __contains__ = _refuse
    __getitem__ = __eq__ = __ne__ = __getattr__ = _refuse
    __hash__ = None  # type: ignore[assignment]

    def of(self, results: Sequence[Any]) -> Any:
        """Return the part, of what the calls gave."""
        found = results[self.call]
        for key in self.path:
            held: Any = parts_of(found) if isinstance(found, Composite) else found
            found = held[key]
        return found


class BatchToCome:
    """Stands for a batch that nobody has yet, in a function that is found out about.

    An operation that knows it notes what it would do, and gives :class:`ResultPart` in place of its result's arrays.

    Attributes:
        calls: The operations noted so far.
    """

    def __init__(self) -> None:
        self.calls: list[Operation] = []

    def call(self, operation: Operation) -> int:
        """Note an operation; its number, for :class:`ResultPart`."""
        self.calls.append(operation)
        return len(self.calls) - 1


class BatchProgram:
    """What such a function does.

    Args:
        calls: The operations that the batch is handed to.
        parts: What the function gives back, as leaves: :class:`ResultPart` or composites of them.
        structure: The structure of it.
    """

    def __init__(self, calls: Sequence[Operation], parts: Row, structure: Structure) -> None:
        self._calls = calls
        self._parts = parts
        self.structure = structure

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self | None:
        """Return what a pure function of one argument does, if it is nothing else."""
        batch = BatchToCome()
        try:
            parts, structure = flatten(function(batch))
        # It looked at a value: then it does something else, too.
        except Exception:
            return None
        # Those of a SparseTensor stand in it.
        kinds = {
            type(part)
            for leaf in parts
            for part in (parts_of(leaf) if isinstance(leaf, Composite) else [leaf])
        }
        if kinds != {ResultPart}:
            return None
        return cls(batch.calls, parts, structure)

    def __call__(self, batches: Sequence[Any]) -> list[Row]:
        """Return the function's results for several batches; raise if it fails on one of them."""
        by_call = [operation(batches) for operation in self._calls]
        return [[_find(leaf, results) for leaf in self._parts] for results in zip(*by_call, strict=True)]


def _find(leaf: object, results: Sequence[Any]) -> Any:
    return map_parts(lambda part: part.of(results), leaf)
