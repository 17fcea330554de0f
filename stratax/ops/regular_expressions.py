r"""Regular expressions of RE2, as functions of `tf.strings` take them, by Python's `re` (ops layer).

Where `re` would try very many ways, `_linear_expressions.py` takes its place, so that no text takes forever. RE2 looks
at characters of UTF-8, `\d`, `\s`, `\w` and `\b` mean ASCII, and `$` is the end of the text. What `re` does not have
(`\pN`, `\Q...\E`, `\C`) needs the package google-re2, which is used for such patterns where it is installed.
"""

import functools
import importlib
import importlib.util
import math
import re
from collections.abc import Callable
from typing import Any

from stratax._shown import shown
from stratax.errors import BadArgumentError, MissingPackageError
from stratax.ops import _linear_expressions

# The logarithm of how many ways Python's `re` may try: about a second.
_MOST_STEPS = math.log(1e7)

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r"\t ", "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ",
    "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    r"\[:(?P<class>\^?\w+):\]|\\(?P<escape>.)|(?P<special>[\[\]$])|(?P<flags>\(\?[a-zA-Z-]+\))", re.DOTALL
)


def matching(pattern: Any) -> Callable[[bytes], bool]:
    """Return a function that says whether a pattern matches the whole of a string.

    Raises:
        BadArgumentError: It is no regular expression.
        MissingPackageError: It needs google-re2, which is not installed.
    """
    compiled = _compiled(_text(pattern))

    def matches(given: bytes) -> bool:
        text = _decoded(given)
        return compiled.by(text, searches=False).fullmatch(text) is not None

    return matches


def replacing(pattern: Any, rewrite: Any, replaces_all: bool) -> Callable[[bytes], bytes]:
    r"""Return a function that replaces what a pattern matches.

    Args:
        pattern: The pattern.
        rewrite: What stands there instead, with ``\0`` to ``\9`` for groups.
        replaces_all: Whether each match is replaced, or the first one only.

    Raises:
        BadArgumentError: It is no regular expression, or the rewrite names a group that there is not.
        MissingPackageError: It needs google-re2, which is not installed.
    """
    compiled = _compiled(_text(pattern))
    parts = _parts(_text(rewrite), compiled.groups)

    def rewritten(match: Any) -> str:
        return "".join(part if isinstance(part, str) else match.group(part) or "" for part in parts)

    def replace(given: bytes) -> bytes:
        text = _decoded(given)
        made = _replaced(compiled.by(text, searches=True), text, rewritten, replaces_all)
        return made.encode(errors="surrogateescape")

    return replace


def _replaced(by: Any, text: str, rewritten: Callable[[Any], str], replaces_all: bool) -> str:
    made, at, last_end = [], 0, -1
    while at <= len(text) and (match := by.search(text, at)) is not None:
        begin, end = match.start(), match.end()
        made.append(text[at:begin])
        # As in RE2, and not in Python: nothing is no match where the one before ends.
        if begin == end == last_end:
            made.append(text[begin : begin + 1])
            at = begin + 1
            continue
        made.append(rewritten(match))
        at = last_end = end
        if not replaces_all:
            break
    return "".join([*made, text[at:]])


def _text(value: Any) -> str:
    if hasattr(value, "item"):
        value = value.item()
    return value.decode() if isinstance(value, bytes) else str(value)


def _decoded(given: bytes) -> str:
    return given.decode(errors="surrogateescape")


def _parts(rewrite: str, num_groups: int) -> list[str | int]:
    """Return the text and the numbers of groups of a rewrite."""
    found: list[str | int] = []
    for text, number, other in re.findall(r"([^\\]+)|\\(\d)|\\(.?)", rewrite, re.DOTALL):
        if number and int(number) <= num_groups:
            found.append(int(number))
        elif text or other == "\\":
            found.append(text or other)
        else:
            raise BadArgumentError(
                rf"Invalid rewrite pattern. Expected: \0 to \{num_groups} for groups, and \\ for a backslash. "
                f"Received: rewrite={shown(rewrite)}."
            )
    return found


class _Pattern:
    """A pattern, and what finds it in a text."""

    def __init__(self, pattern: str) -> None:
        translated = _of_python(pattern)
        self._tree = _linear_expressions.parsed(translated)
        self._by_python = re.compile(translated, re.ASCII)
        self._differs = _linear_expressions.differs(self._tree)
        self.groups = self._by_python.groups

    def by(self, text: str, *, searches: bool) -> Any:
        """Return what has `fullmatch` and `search` and ends soon for a text."""
        steps = _linear_expressions.steps(self._tree, len(text), searches=searches)
        return self._linear if self._differs or steps > _MOST_STEPS else self._by_python

    @functools.cached_property
    def _linear(self) -> _linear_expressions.LinearExpression:
        return _linear_expressions.LinearExpression(self._tree)


class _PatternOfRe2:
    """A pattern that google-re2 finds."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled
        self.groups = compiled.groups

    def by(self, text: str, *, searches: bool) -> Any:
        """Return what has `fullmatch` and `search`."""
        return self._compiled


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> _Pattern | _PatternOfRe2:
    try:
        return _Pattern(pattern)
    except re.error as e:
        raise BadArgumentError(
            f"Invalid regular expression. Expected: one of RE2's syntax. Received: pattern={shown(pattern)}: {e}."
        ) from e
    except NotImplementedError as e:
        return _PatternOfRe2(_by_re2(pattern, str(e)))


def has_re2() -> bool:
    """Return whether the package google-re2 is installed."""
    return importlib.util.find_spec("re2") is not None


def _by_re2(pattern: str, what: str) -> Any:
    if not has_re2():
        raise MissingPackageError(
            f"A regular expression uses {what}, which Python's `re` does not have. Received: pattern={shown(pattern)}. "
            "Write it without, or install what has it: pip install google-re2"
        )
    return importlib.import_module("re2").compile(pattern)


def _of_python(pattern: str) -> str:
    """Return the pattern as Python's `re` has it.

    Raises:
        NotImplementedError: It has something that `re` has not.
    """
    made, at, is_class, flags = [], 0, False, ""
    for token in _TOKEN.finditer(pattern):
        made.append(pattern[at : token.start()])
        at = token.end()
        text = token.group()
        if token["class"] is not None:
            text = _posix(token["class"])
        elif token["escape"] is not None:
            text = _escape(token["escape"])
        elif token["flags"] is not None:
            # Python has flags for a whole pattern at its beginning only.
            flags += text if not is_class and "-" not in text and "U" not in text else ""
            text = "" if flags.endswith(text) else text
        elif text == "[":
            text, is_class = ("\\[", True) if is_class else ("[", True)
        elif text == "]":
            # The first character of a class is no end.
            is_class = is_class and pattern[: token.start()].endswith(("[", "[^")) and not is_class
        elif not is_class and "m" not in flags:
            text = "\\Z"
        made.append(text)
    made.append(pattern[at:])
    return flags + "".join(made)


def _posix(name: str) -> str:
    if name not in _POSIX:
        raise NotImplementedError(f"[:{name}:]")
    return _POSIX[name]


def _escape(char: str) -> str:
    if char in "pPQEC":
        raise NotImplementedError(f"\\{char}")
    return {"z": "\\Z"}.get(char, f"\\{char}")
