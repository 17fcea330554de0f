"""Regular expressions in time that grows with the text's length alone (ops layer).

A pattern becomes a small program whose threads all read the same character at a time, with those that are preferred
first, after Pike's and Thompson's machines that RE2 is made of, too. It is slower than Python's `re` where that has
little to try, and finds the same; where `re` tries one way after another it may never end, and lets no other thread of
Python run meanwhile. :func:`steps` tells the two apart.
"""

import dataclasses
import importlib
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

# Python's own parser, which has no public name; the same from 3.11 on.
_parser: Any = importlib.import_module("re._parser")
_MOST = int(_parser.MAXREPEAT)
# As in RE2, which refuses larger ones.
_MOST_TIMES = 1000
_MOST_INSTRUCTIONS = 100_000
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_SINGLE = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_CATEGORIES = {
    "DIGIT": re.compile(r"\d", re.ASCII),
    "SPACE": re.compile(r"\s", re.ASCII),
    "WORD": re.compile(r"\w", re.ASCII),
}

Tree = Any
# What a character is tested with, where to go on, which group's end to note, what has to hold between characters.
_CHAR, _SPLIT, _SAVE, _AT, _MATCH = range(5)


def parsed(pattern: str) -> Tree:
    """Return the tree of a pattern of Python's.

    Raises:
        re.error: It is none, or has what RE2 refuses: what looks around or back, possessive or too large repetitions.
    """
    try:
        tree = _parser.parse(pattern, re.ASCII)
        _check(tree, 1)
    except (OverflowError, RecursionError) as error:
        raise re.error(f"it is too large or too deep ({error})") from error
    return tree


def _check(tree: Tree, times: int) -> None:
    for op, value in tree:
        name = str(op)
        if name in _REPEATS:
            low, high, inner = value
            within = times * max(1, low, high if high != _MOST else 0)
            if within > _MOST_TIMES:
                raise re.error(f"repetitions of more than {_MOST_TIMES} times")
            _check(inner, within)
        elif name == "SUBPATTERN":
            _check(value[3], times)
        elif name == "BRANCH":
            for each in value[1]:
                _check(each, times)
        elif name not in (*_SINGLE, "AT"):
            raise re.error(f"{name.lower().replace('_', ' ')}, which RE2 does not have")


def differs(tree: Tree) -> bool:
    r"""Return whether `re` may find something else.

    It repeats what may be empty once more for nothing, and finds no `\B` in an empty text before Python 3.14.
    """
    return any(_item_differs(str(op), value) for op, value in tree)


def _item_differs(name: str, value: Any) -> bool:
    if name in _REPEATS:
        _, high, inner = value
        return bool(high > 1 and not inner.getwidth()[0] and len(inner)) or differs(inner)
    if name == "BRANCH":
        return any(map(differs, value[1]))
    return differs(value[3]) if name == "SUBPATTERN" else str(value) == "AT_NON_BOUNDARY"


def steps(tree: Tree, length: int, *, searches: bool) -> float:
    """Return the logarithm of how many ways `re` may try at most.

    Args:
        tree: The pattern's tree.
        length: The text's length.
        searches: Whether it tries at each place of the text.
    """
    items = list(tree)
    # What repeats a character at the very end takes all there are, and never goes back.
    if searches and items and str(items[-1][0]) in _REPEATS and _is_single(items[-1][1][2]):
        items.pop()
    return _ways(items, length) + (math.log(length + 1) if searches else 0)


def _is_single(tree: Tree) -> bool:
    return len(tree) == 1 and str(tree[0][0]) in _SINGLE


def _ways(items: Iterable[tuple[Any, Any]], length: int) -> float:
    total = 0.0
    for op, value in items:
        name = str(op)
        if name == "SUBPATTERN":
            total += _ways(value[3], length)
        elif name == "BRANCH":
            ways = [_ways(each, length) for each in value[1]]
            most = max(ways)
            total += most + math.log(sum(math.exp(each - most) for each in ways))
        elif name in _REPEATS:
            low, high, inner = value
            times = min(high, length // max(1, inner.getwidth()[0]))
            total += math.log(max(0, times - low) + 1) + times * _ways(inner, length)
    return total


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What a pattern has matched.

    Attributes:
        text: The text.
        ends: Where the whole begins and ends, then each group; None of groups that took no part.
    """

    text: str
    ends: tuple[int | None, ...]

    def start(self) -> int:
        """Return where it begins."""
        return self.ends[0] or 0

    def end(self) -> int:
        """Return where it ends."""
        return self.ends[1] or 0

    def group(self, number: int) -> str | None:
        """Return what a group has matched; the whole is number 0."""
        begin, end = self.ends[2 * number : 2 * number + 2]
        return None if begin is None or end is None else self.text[begin:end]


class LinearExpression:
    """A pattern as a program.

    Args:
        tree: Its tree.

    Raises:
        re.error: It would be too large.
    """

    def __init__(self, tree: Tree) -> None:
        self._code: list[tuple[Any, ...]] = []
        self._num_ends = 2 * tree.state.groups
        self._emit(tree, tree.state.flags)
        self._code.append((_MATCH,))

    def fullmatch(self, text: str) -> Found | None:
        """Return what it matches if that is all of a text."""
        return self._run(text, 0, is_whole=True)

    def search(self, text: str, start: int) -> Found | None:
        """Return what it matches first, from a place on."""
        return self._run(text, start, is_whole=False)

    def _run(self, text: str, start: int, *, is_whole: bool) -> Found | None:
        found: tuple[int | None, ...] | None = None
        none = (None,) * self._num_ends
        threads: list[tuple[int, tuple[int | None, ...]]] = []
        seen: set[int] = set()
        for at in range(start, len(text) + 1):
            if found is None and not (is_whole and at > start):
                self._follow(0, (at, *none[1:]), text, at, threads, seen)
            if not threads and (found is not None or is_whole):
                break
            following: list[tuple[int, tuple[int | None, ...]]] = []
            seen = set()
            for place, ends in threads:
                instruction = self._code[place]
                if instruction[0] == _MATCH:
                    if not is_whole or at == len(text):
                        found = (ends[0], at, *ends[2:])
                        # Those behind it are preferred less.
                        break
                elif at < len(text) and instruction[1](text[at]):
                    self._follow(place + 1, ends, text, at + 1, following, seen)
            threads = following
        return None if found is None else Found(text, found)

    def _follow(
        self,
        place: int,
        ends: tuple[int | None, ...],
        text: str,
        at: int,
        threads: list[tuple[int, tuple[int | None, ...]]],
        seen: set[int],
    ) -> None:
        """Add the threads that a place leads to without a character, those that are preferred first."""
        waiting = [(place, ends)]
        while waiting:
            place, ends = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = self._code[place]
            kind = instruction[0]
            if kind == _SPLIT:
                waiting += [(instruction[2], ends), (instruction[1], ends)]
            elif kind == _SAVE:
                which = instruction[1]
                waiting.append((place + 1, (*ends[:which], at, *ends[which + 1 :])))
            elif kind == _AT:
                if instruction[1](text, at):
                    waiting.append((place + 1, ends))
            else:
                threads.append((place, ends))

    def _emit(self, tree: Tree, flags: int) -> None:
        for op, value in tree:
            name = str(op)
            if name in _SINGLE:
                self._add(_CHAR, _test(name, value, flags))
            elif name == "AT":
                self._add(_AT, _between(str(value), flags))
            elif name == "SUBPATTERN":
                group, more, fewer, inner = value
                if group is not None:
                    self._add(_SAVE, 2 * group)
                self._emit(inner, (flags | more) & ~fewer)
                if group is not None:
                    self._add(_SAVE, 2 * group + 1)
            elif name == "BRANCH":
                self._emit_branches(value[1], flags)
            else:
                low, high, inner = value
                self._emit_repeat(low, high, inner, flags, prefers_more=name == "MAX_REPEAT")

    def _emit_branches(self, branches: list[Tree], flags: int) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._add(_SPLIT, 0, 0)
            self._emit(branch, flags)
            ends.append(self._add(_SPLIT, 0, 0))
            self._code[split] = (_SPLIT, split + 1, len(self._code))
        self._emit(branches[-1], flags)
        for end in ends:
            self._code[end] = (_SPLIT, len(self._code), len(self._code))

    def _emit_repeat(self, low: int, high: int, inner: Tree, flags: int, *, prefers_more: bool) -> None:
        def choice(at: int, more: int, fewer: int) -> None:
            self._code[at] = (_SPLIT, more, fewer) if prefers_more else (_SPLIT, fewer, more)

        for _ in range(low - 1 if high == _MOST else low):
            self._emit(inner, flags)
        skips = []
        if high == _MOST:
            if not low:
                skips.append(self._add(_SPLIT, 0, 0))
            begin = len(self._code)
            self._emit(inner, flags)
            end = self._add(_SPLIT, 0, 0)
            choice(end, begin, len(self._code))
        else:
            for _ in range(high - low):
                skips.append(self._add(_SPLIT, 0, 0))
                self._emit(inner, flags)
        for skip in skips:
            choice(skip, skip + 1, len(self._code))

    def _add(self, *instruction: Any) -> int:
        if len(self._code) >= _MOST_INSTRUCTIONS:
            raise re.error("it is too large")
        self._code.append(instruction)
        return len(self._code) - 1


def _test(name: str, value: Any, flags: int) -> Callable[[str], bool]:
    """Return what tests a character, which remembers its answers."""
    known: dict[str, bool] = {}

    def test(char: str) -> bool:
        if (answer := known.get(char)) is None:
            answer = known[char] = _holds(name, value, flags, char)
        return answer

    return test


def _holds(name: str, value: Any, flags: int, char: str) -> bool:
    if name == "ANY":
        return bool(flags & re.DOTALL) or char != "\n"
    forms = {char, char.lower(), char.upper()} if flags & re.IGNORECASE and char.isascii() else {char}
    if name == "IN":
        items = list(value)
        negates = bool(items) and str(items[0][0]) == "NEGATE"
        return any(_is_in(items[negates:], each) for each in forms) != negates
    return any(ord(each) == value for each in forms) != (name == "NOT_LITERAL")


def _is_in(items: list[tuple[Any, Any]], char: str) -> bool:
    code = ord(char)
    for op, value in items:
        match str(op):
            case "LITERAL":
                is_in = code == value
            case "RANGE":
                is_in = value[0] <= code <= value[1]
            case _:
                _, *negated, kind = str(value).split("_")
                is_in = (_CATEGORIES[kind].match(char) is None) == bool(negated)
        if is_in:
            return True
    return False


def _between(name: str, flags: int) -> Callable[[str, int], bool]:
    """Return what tests a place between two characters."""
    by_line = bool(flags & re.MULTILINE)

    def begins(text: str, at: int) -> bool:
        return not at or (by_line and name == "AT_BEGINNING" and text[at - 1] == "\n")

    def ends(text: str, at: int) -> bool:
        return at == len(text) or (by_line and name == "AT_END" and text[at] == "\n")

    def is_boundary(text: str, at: int) -> bool:
        word = _CATEGORIES["WORD"]
        before = at > 0 and word.match(text[at - 1]) is not None
        behind = at < len(text) and word.match(text[at]) is not None
        return (before != behind) == (name == "AT_BOUNDARY")

    if name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return begins
    return ends if name in ("AT_END", "AT_END_STRING") else is_boundary
