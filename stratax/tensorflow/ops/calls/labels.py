"""Labels looked up by traced indices: who makes strings of a compiled step's results (ops layer).

A device holds no strings, so `tf.gather(labels, indices)` has no result in a program. Whoever runs the program's step
can make it afterwards, on the host: it enters :func:`looked_up_by` while the step is traced.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from stratax.base.recording import RECORDING


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
# From a function of arrays, its operands, its name and the dtype of what it gives.
Apply = Callable[[Callable[..., np.ndarray], Sequence[Any], str, Any], Any]


# Of a thread, as traces are.
class _Active(threading.local):
    lookup: Lookup | None = None
    apply: Apply | None = None


_active = _Active()


@contextlib.contextmanager
def looked_up_by(lookup: Lookup, apply: Apply | None = None) -> Iterator[None]:
    """Have a function stand for what is looked up in a block.

    Args:
        lookup: From a function of NumPy indices that gives strings, and the traced indices, to what stands for them.
        apply: Makes what stands for a function of strings, of operands that have no values yet.
    """
    before = _active.lookup, _active.apply
    _active.lookup, _active.apply = lookup, apply
    try:
        yield
    finally:
        _active.lookup, _active.apply = before


def lookup() -> Lookup | None:
    """Return the function that is entered on this thread, or None."""
    return _active.lookup if RECORDING.recorder is None else RECORDING.recorder.lookup


def applier() -> Apply | None:
    """Return what applies functions of strings to symbols on this thread, or None."""
    return _active.apply if RECORDING.recorder is None else RECORDING.recorder.apply
