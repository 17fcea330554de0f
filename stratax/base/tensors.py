"""Whether elements and results have what TensorFlow's tensors have: in programs that ask for it (lowest layer).

Importing `stratax.tf` asks for it. Its operators of text are then those of TensorFlow's strings, sparse values have
tensors' methods, and so on; a program that does not import it gets what NumPy has.
"""

import functools
from collections.abc import Callable


class _Program:
    has_tensors = False


# Returns whether elements and results have what tensors have; asked at every operation, so without a frame of Python's.
has_tensors: Callable[[], bool] = functools.partial(getattr, _Program, "has_tensors")


def tell_tensors() -> None:
    """Have this process give them: it runs a program that is written for tensors, or a function of one."""
    _Program.has_tensors = True
