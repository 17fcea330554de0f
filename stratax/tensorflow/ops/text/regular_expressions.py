r"""Regular expressions as functions of `tf.strings` take them (ops layer).

They are RE2's, by RE2 itself (the package google-re2), as in TensorFlow: no text takes longer than its length allows,
and other threads of Python run meanwhile. Text is bytes, of which RE2 looks at characters of UTF-8.
"""

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.errors import BadArgumentError

# How many bytes a character of UTF-8 has, by the greatest first byte that says so.
_LENGTHS = ((0xDF, 2), (0xEF, 3), (0xF7, 4))


def matching(pattern: Any) -> Callable[[bytes], bool]:
    """Return a function that says whether a pattern matches the whole of a string.

    Raises:
        BadArgumentError: It is no regular expression.
    """
    compiled = _compile(_bytes(pattern))
    return lambda given: compiled.fullmatch(given) is not None


def replacing(pattern: Any, rewrite: Any, replaces_all: bool) -> Callable[[bytes], bytes]:
    r"""Return a function that replaces what a pattern matches.

    Args:
        pattern: The pattern.
        rewrite: What stands there instead, with ``\0`` to ``\9`` for groups.
        replaces_all: Whether each match is replaced, or the first one only.

    Raises:
        BadArgumentError: It is no regular expression, or the rewrite names a group that there is not.
    """
    compiled = _compile(_bytes(pattern))
    parts = _parts(_bytes(rewrite), compiled.groups)

    def rewrite_match(match: Any) -> bytes:
        # A group that took no part in the match is empty.
        return b"".join(part if isinstance(part, bytes) else match.group(part) or b"" for part in parts)

    return lambda given: _replace(compiled, given, rewrite_match, replaces_all)


def _replace(compiled: Any, text: bytes, rewritten: Callable[[Any], bytes], replaces_all: bool) -> bytes:
    made, at, last_end = [], 0, -1
    while at <= len(text) and (match := compiled.search(text, at)) is not None:
        begin, end = match.span()
        made.append(text[at:begin])
        # As RE2's own replacing, which has no name in Python: nothing is no match where the one before ends.
        if begin == end == last_end:
            at = begin + _length_of_character(text, begin)
            made.append(text[begin:at])
            continue
        made.append(rewritten(match))
        at = last_end = end
        if not replaces_all:
            break
    return b"".join([*made, text[at:]])


def _length_of_character(text: bytes, at: int) -> int:
    """Return how many bytes a character has; one where the bytes are no character."""
    # No character of several bytes begins below 0xC2.
    if at >= len(text) or text[at] < 0xC2:
        return 1
    length = next((size for last, size in _LENGTHS if text[at] <= last), 1)
    try:
        text[at : at + length].decode()
    except UnicodeDecodeError:
        return 1
    return length


def _bytes(value: TensorLike) -> bytes:
    if hasattr(value, "item"):
        value = value.item()
    return value if isinstance(value, bytes) else str(value).encode()


def _parts(rewrite: bytes, num_groups: int) -> list[bytes | int]:
    """Return the text and the numbers of groups of a rewrite."""
    found: list[bytes | int] = []
    # Plain text, a group's number, or what else stands behind a backslash.
    for text, number, other in re.findall(rb"([^\\]+)|\\(\d)|\\(.?)", rewrite, re.DOTALL):
        if number and int(number) <= num_groups:
            found.append(int(number))
        elif text or other == b"\\":
            found.append(text or other)
        else:
            raise BadArgumentError(
                rf"Invalid rewrite pattern. Expected: \0 to \{num_groups} for groups, and \\ for a backslash. "
                f"Received: rewrite={shown(rewrite)}."
            )
    return found


@functools.lru_cache(maxsize=256)
def _compile(pattern: bytes) -> Any:
    # Late: most programs use none.
    re2 = importlib.import_module("re2")
    options = re2.Options()
    # On the standard error, beside the error that is raised.
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        what = error.args[0] if error.args else ""
        told = what.decode(errors="replace") if isinstance(what, bytes) else what
        raise BadArgumentError(
            f"Invalid regular expression. Expected: one of RE2's syntax. Received: pattern={shown(pattern)}: {told}."
        ) from error
