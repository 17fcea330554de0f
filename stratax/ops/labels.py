"""Labels looked up by traced indices: who makes strings of a compiled step's results (ops layer).

A device holds no strings, so `tf.gather(labels, indices)` has no result in a program. Whoever runs the program's step
can make it afterwards, on the host: it enters :func:`looked_up_by` while the step is traced.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


class TextSymbol:
    """Strings that have no values while a step is traced: features, and what is made of results."""

    def applied(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function makes of operands of which it is one.

        Args:
            name: What the function is called.
            function: From NumPy arrays, one for each operand, to an array.
            operands: Symbols, and arrays.
        """
        raise NotImplementedError


Lookup = Callable[[Callable[[np.ndarray], np.ndarray], Any], Any]


# Of a thread, as traces are.
class _Active(threading.local):
    lookup: Lookup | None = None


_active = _Active()


@contextlib.contextmanager
def looked_up_by(lookup: Lookup) -> Iterator[None]:
    """Have a function stand for what is looked up in a block.

    Args:
        lookup: From a function of NumPy indices that gives strings, and the traced indices, to what stands for them.
    """
    before, _active.lookup = _active.lookup, lookup
    try:
        yield
    finally:
        _active.lookup = before


def lookup() -> Lookup | None:
    """Return the function that is entered on this thread, or None."""
    return _active.lookup
