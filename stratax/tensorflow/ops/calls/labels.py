"""Labels looked up by traced indices: who makes strings of a compiled step's results (ops layer).

A device holds no strings, so `tf.gather(labels, indices)` has no result in a program. Whoever runs the program's step
can make it afterwards, on the host: it enters :func:`look_up_by` while the step is traced.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stratax.base.recording import RECORDER
from stratax.base.surroundings import Slot, Surroundings


class TextSymbol:
    """Strings that have no values while a step is traced: features, and what is made of results."""

    def apply(self, name: str, function: Callable[..., Any], operands: list[Any]) -> Any:
        """Return what a function makes of operands of which it is one.

        Args:
            name: What the function is called.
            function: From NumPy arrays, one for each operand, to an array.
            operands: Symbols, and arrays.
        """
        raise NotImplementedError


# From a function of numbers, and numbers that are traced, to what stands for the strings.
Lookup = Callable[[Callable[[np.ndarray], np.ndarray], Any], Any]
# From a function of arrays, its operands, its name and the dtype of what it gives.
Apply = Callable[[Callable[..., np.ndarray], Sequence[Any], str, Any], Any]


_LOOKUP: Slot[Lookup | None] = Slot("lookup of labels", None)
_APPLY: Slot[Apply | None] = Slot("functions of labels", None)


def look_up_by(lookup: Lookup, apply: Apply | None = None) -> Surroundings:
    """Have a function stand for what is looked up in a block.

    Args:
        lookup: From a function of NumPy indices that gives strings, and the traced indices, to what stands for them.
        apply: Makes what stands for a function of strings, of operands that have no values yet.
    """
    return _LOOKUP.holding(lookup) | _APPLY.holding(apply)


def lookup() -> Lookup | None:
    """Return the function that is entered on this thread, or None."""
    # While an export is traced its recorder takes the place of a model_fn's.
    recorder = RECORDER.get()
    return _LOOKUP.get() if recorder is None else recorder.lookup


def applier() -> Apply | None:
    """Return what applies functions of strings to symbols on this thread, or None."""
    recorder = RECORDER.get()
    return _APPLY.get() if recorder is None else recorder.apply
