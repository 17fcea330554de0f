"""How messages show values that came from outside (the lowest layer: imports nothing of Stratax)."""

import contextlib
import itertools
import reprlib
import sys
from typing import Any

# How much of one value a message shows.
MOST_CHARACTERS = 200

_MOST_PARTS = 20
_MOST_TEXT = 160
_EDGE_ITEMS = 3


def shown(value: object) -> str:
    """Return a value as a message shows it: as `repr` does, in at most 200 characters.

    Long text, bytes, containers and arrays are shortened before they are formatted, so that a large value costs no
    time.

    Args:
        value: Whatever was received.
    """
    with _short_arrays():
        return cut(_FORMS.repr(value))


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """Leave out the middle of a text that is too long: paths and reasons tell as much at their end."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - 3]}...{text[-end:]}"


class _Forms(reprlib.Repr):
    """Shortens what is long, and keeps the order of dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdeque = _MOST_PARTS
        self.maxarray = self.maxdict = _MOST_PARTS
        self.maxlong = _MOST_TEXT
        self.maxother = MOST_CHARACTERS

    def repr_str(self, x: str, level: int) -> str:
        if len(x) <= _MOST_TEXT:
            return repr(x)
        return f"{cut(repr(cut(x, _MOST_TEXT)), _MOST_TEXT)} ({len(x)} characters)"

    def repr_bytes(self, x: bytes | bytearray, level: int) -> str:
        if len(x) <= _MOST_TEXT:
            return repr(x)
        return f"{cut(repr(x[: _MOST_TEXT // 4]), _MOST_TEXT)}... ({len(x)} bytes)"

    repr_bytearray = repr_bytes

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        if level <= 0:
            return "{...}"
        parts = [
            f"{self.repr1(key, level - 1)}: {self.repr1(part, level - 1)}"
            for key, part in itertools.islice(x.items(), self.maxdict)
        ]
        return "{" + ", ".join([*parts, *["..."][: len(x) - len(parts)]]) + "}"

    def repr_TensorShape(self, x: Any, level: int) -> str:
        # `reprlib` looks for the class's name. It is shown as the tuple that it is in a program without `stratax.tf`.
        return str(x)

    def repr_ndarray(self, x: Any, level: int) -> str:
        # Byte strings may be long where an array has few elements.
        if x.dtype.kind != "O":
            return self.repr_instance(x, level)
        parts = self.repr1(x.tolist(), level) if x.size <= _MOST_PARTS else f"... shape={x.shape}"
        return f"array({parts}, dtype=object)"


def _short_arrays() -> contextlib.AbstractContextManager[Any]:
    # An array can only have come where NumPy was imported.
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return contextlib.nullcontext()
    short: contextlib.AbstractContextManager[Any] = numpy.printoptions(
        threshold=_MOST_PARTS, edgeitems=_EDGE_ITEMS
    )
    return short


_FORMS = _Forms()
