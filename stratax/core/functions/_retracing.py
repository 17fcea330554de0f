"""What a function was traced for, to say what makes it be traced again and again (core layer)."""

import dataclasses
import re
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Self

import jax

from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.core.functions import _signature

_MAX_GROUPS = 256


class History:
    """Counts the traces of a function and remembers what the last one was for.

    Args:
        traces_before_warning: After how many traces another one warns; 0 for never.
        by_callee: Whether to count by themselves the traces for each function that is the first argument.
    """

    def __init__(self, traces_before_warning: int, *, by_callee: bool) -> None:
        self.limit = traces_before_warning
        self._by_callee = by_callee
        self._last: dict[Hashable, tuple[int, _Trace]] = {}
        self._known: dict[Hashable, None] = {}

    def is_known(self, arguments: _signature.Arguments) -> bool:
        """Return whether the function, and with `by_callee` the same one that it calls, was traced before."""
        return self._callee(arguments) in self._known

    def add(self, arguments: _signature.Arguments) -> None:
        """Note that the function was traced."""
        group = self._group(arguments)
        # Taken out and put back at the end: the oldest entry is the first one of the dict.
        count = self._last.pop(group)[0] if group in self._last else 0
        self._last[group] = count + 1, _Trace.of(arguments)
        self._known[self._callee(arguments)] = None
        for table in (self._last, self._known):
            if len(table) > _MAX_GROUPS:
                # Bounded, so that a function with ever new arguments does not grow without end.
                del table[next(iter(table))]

    def warn(
        self,
        function: Callable[..., Any],
        arguments: _signature.Arguments,
        parameters: Sequence[str],
        reason: str | None = None,
    ) -> None:
        """Warn where `function`, which has these parameters, is about to be traced once more than it should.

        The reason is what differs from the last trace, unless it is given.
        """
        count, last = self._last.get(self._group(arguments), (0, None))
        if last is None or not self.limit or count % self.limit:
            return
        name = shown(arguments.leaves[0]) if self._by_callee else repr(function)
        warnings.warn(
            f"{name} was traced {count} times and is traced again, which is slow. "
            f"{reason or last.difference(_Trace.of(arguments), parameters)} "
            "Pass numbers that change as arrays (`jax.numpy.asarray(n)`), keep shapes equal (`drop_remainder=True`, "
            "padding), and define the function outside of loops.",
            RuntimeWarning,
            stacklevel=stack_level(),
        )

    def _callee(self, arguments: _signature.Arguments) -> Hashable:
        """Return what is called: functions of one code that close over different things are different functions."""
        return _signature.static_key(arguments.leaves[0]) if self._by_callee else None

    def _group(self, arguments: _signature.Arguments) -> Hashable:
        """Return what is counted together: one piece of code, whatever it closes over."""
        if not self._by_callee:
            return None
        # A lambda in a loop is made anew each time; counted by code, its traces are seen as repeated.
        return getattr(arguments.leaves[0], "__code__", None) or self._callee(arguments)


@dataclasses.dataclass(frozen=True, slots=True)
class _Trace:
    """What a warning needs to know of the arguments of a trace; it holds none of them."""

    structure: str
    paths: list[str]
    leaves: list[str]

    @classmethod
    def of(cls, arguments: _signature.Arguments) -> Self:
        numbered = jax.tree.unflatten(arguments.treedef, range(len(arguments.leaves)))
        paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(numbered)[0]]
        return cls(str(arguments.treedef), paths, [_signature.describe(leaf) for leaf in arguments.leaves])

    def difference(self, now: "_Trace", parameters: Sequence[str]) -> str:
        """Return a sentence about the first difference to the arguments of a later trace of a function."""
        if self.structure != now.structure:
            return f"The structure of its arguments changed from {self.structure} to {now.structure}."
        for path, old, new in zip(now.paths, self.leaves, now.leaves, strict=True):
            if old != new:
                return f"Argument {_name_position(path, parameters)} changed from {old} to {new}."
        return "What it closes over changed."


def _name_position(path: str, parameters: Sequence[str]) -> str:
    """Name a position in the pair of positional and keyword arguments by its parameter."""
    match = re.fullmatch(r"\[(?P<kind>[01])\]\[(?P<key>[^\]]*)\](?P<rest>.*)", path)
    if match is None:
        return path
    key = match["key"].strip("'")
    if match["kind"] == "0" and int(key) < len(parameters):
        key = parameters[int(key)]
    return f"{shown(key)}" + (f" (at {match['rest']})" if match["rest"] else "")
