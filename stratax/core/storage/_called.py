"""Properties that programs for TensorFlow call as methods: `variable.value()` (core layer)."""

import dis
import sys
import types
from typing import Any

_ATTRIBUTE = dis.opmap["LOAD_ATTR"]
# Before Python 3.12 an operation of its own loads what is called next; since then it is a flag of the other one.
_METHOD = dis.opmap.get("LOAD_METHOD")


def or_function(value: object, frame: types.FrameType) -> Any:
    """Return a property's value, or a function that returns it, where the code that asks for it calls it.

    Keras has a property where TensorFlow has a method, and an array can't be made callable. What gets the attribute
    first and calls it later, as pytest does in an assertion, is given the value.

    Args:
        value: The value.
        frame: The frame that asks for it.
    """
    code, position = frame.f_code.co_code, frame.f_lasti
    if sys.version_info >= (3, 12):
        is_called = code[position] == _ATTRIBUTE and code[position + 1] & 1
    else:
        is_called = code[position] == _METHOD
    return (lambda: value) if is_called else value
