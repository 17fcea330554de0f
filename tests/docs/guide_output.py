"""Imported by the program that is made of a guide's code: compares what a block printed with what the guide says."""

import doctest
import io
import sys

_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_printed = io.StringIO()
sys.stdout = _printed


def forget() -> None:
    """Drops what was printed before a block begins."""
    _printed.seek(0)
    _printed.truncate()


def expect(text: str) -> None:
    """Raises unless the block that has just run printed `text`, in which `...` stands for anything."""
    if not doctest.OutputChecker().check_output(text, _printed.getvalue(), _OPTIONS):
        raise AssertionError(f"The guide says:\n{text}\nbut the code prints:\n{_printed.getvalue()}")
