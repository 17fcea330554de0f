"""One traced and compiled program, and how it is run without ever losing a variable (core layer)."""

import _signal  # type: ignore[import-not-found]  # What signal wraps, without conversions: it runs on every step.
import dataclasses
import signal
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np
from jax.extend import core as jax_core

from stratax.core import _arrivals, _capture, _dispatches, _placement, _stream

_CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "python_callback")


@dataclasses.dataclass(slots=True)
class Output:
    """Where a program's result comes from: an array that it computed, or a value that is not one."""

    index: int | None
    constant: Any = None


class Program:
    """A compiled function for arguments of one kind: variables in, arguments in, variables out, results out.

    Args:
        compiled: A function `(donated, kept, arguments) -> (written, results)` on lists of arrays, compiled.
        donated: Variables that the program reads and writes: their buffers are reused.
        kept: What else the program reads, in order: variables and leaves of streams' feeds.
        written: Variables that the program writes, in order; it begins with `donated`.
        feeds: What the program takes from streams.
        outputs: The structure of results, of :class:`Output` leaves.
        placement: Where variables have to be for this program, or None for wherever they are.
        can_fail: Whether the running program can raise (it calls back into Python).
    """

    def __init__(
        self,
        *,
        compiled: Callable[..., tuple[list[jax.Array], list[jax.Array]]],
        donated: list[keras.Variable],
        kept: list[Any],
        written: list[keras.Variable],
        feeds: list[_capture.StreamFeed],
        outputs: Any,
        placement: jax.sharding.Sharding | None,
        can_fail: bool,
    ) -> None:
        self.compiled = compiled
        self.donated = donated
        self.kept = kept
        self.written = written
        self.feeds = feeds
        self.placement = placement
        self.can_fail = can_fail
        self._output_leaves, self._output_tree = jax.tree.flatten(outputs, is_leaf=_is_output)
        self._kept_ids: list[int] = [0] * len(kept)
        self._donated_ids: list[int] = [0] * len(donated)
        self._has_feeds = bool(feeds)
        self._spans_processes = placement is not None and not placement.is_fully_addressable
        self._has_run = False

    def matches(
        self, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream], known: Sequence[Any]
    ) -> bool:
        """Whether the next elements of `streams` and the counts among the arguments are those of this program."""
        taken: dict[int, int] = {}
        for feed in self.feeds:
            if feed.pinned is not None and int(np.asarray(known[feed.pinned[0]])) != feed.pinned[1]:
                return False
            if not feed.count:
                continue
            count = _count(feed, known)
            # Not `feed.skip`: a feed before it may take fewer elements now than when it was traced.
            skip = taken.get(id(feed.stream), 0)
            if _runs(feed, _stand_in(feed.stream, streams, traced), skip, count) is None:
                return False
            taken[id(feed.stream)] = skip + count
        return True

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[_stream.Stream] = (),
        traced: Sequence[_stream.Stream] = (),
    ) -> Any:
        """Runs the program once and gives the variables that it writes their new values."""
        fed = self._take(arguments, streams, traced) if self._has_feeds else {}
        _arrivals.settle_before_run()
        with _InterruptDeferred():
            donated = [self._donated_value(position) for position in range(len(self.donated))]
            kept = [self._kept_value(position, fed) for position in range(len(self.kept))]
            try:
                written, results = self._dispatch(donated, kept, arguments)
            except ValueError as error:
                if self.placement is None or "incompatible devices" not in str(error):
                    raise
                donated, kept, arguments = (self._moved(group) for group in (donated, kept, arguments))
                written, results = self._dispatch(donated, kept, arguments)
            if self.can_fail:
                jax.block_until_ready((written, results))
            for variable, value in zip(self.written, written, strict=True):
                variable._value = value
            self._donated_ids = [id(value) for value in written[: len(self.donated)]]
        leaves = [
            leaf.constant if leaf.index is None else results[leaf.index] for leaf in self._output_leaves
        ]
        return jax.tree.unflatten(self._output_tree, leaves)

    def _dispatch(
        self, donated: list[jax.Array], kept: list[jax.Array], arguments: list[Any]
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        observer = _dispatches.observer() if self._spans_processes else None
        if observer is None:
            return self.compiled(donated, kept, arguments)
        # JAX compiles in the first call.
        with observer.dispatching() if self._has_run else observer.compiling():
            written, results = self.compiled(donated, kept, arguments)
        self._has_run = True
        observer.dispatched(next(iter([*results[-1:], *written[-1:]]), None))
        return written, results

    def _donated_value(self, position: int) -> jax.Array:
        """The variable's array, or a copy of it where somebody else still holds the array: it is about to go."""
        value = _capture.concrete_value(self.donated[position])
        if id(value) != self._donated_ids[position]:
            value = self._placed(self.donated[position], value)
        return value.copy() if sys.getrefcount(value) > _REFERENCES_OF_ITS_OWN else value

    def _kept_value(self, position: int, fed: dict[_capture.FeedLeaf, Any]) -> jax.Array:
        source = self.kept[position]
        if isinstance(source, _capture.FeedLeaf):
            return fed[source]
        value = _capture.concrete_value(source)
        if id(value) != self._kept_ids[position]:
            value = self._placed(source, value)
            self._kept_ids[position] = id(value)
        return value

    def _placed(self, variable: keras.Variable, value: jax.Array) -> jax.Array:
        """The variable's array, moved to where the program needs it, for good, if it is elsewhere.

        JAX would move it by itself: again on every call where it is only read, and, where it is written, with a
        second program for the second call, when the array is where the first call left it.
        """
        if self.placement is None or (
            value.committed and value.sharding.is_equivalent_to(self.placement, value.ndim)
        ):
            return value
        variable._value = _placement.place(value, self.placement)
        return variable._value

    def _moved(self, group: Sequence[Any]) -> list[Any]:
        """The arrays, those that were committed to other devices than the program's on its own, all of them."""
        placement = self.placement
        if placement is None:
            return list(group)
        devices = placement.device_set
        return [
            array
            if isinstance(array, jax.Array) and array.sharding.device_set == devices
            else _placement.place(array, placement)
            for array in group
        ]

    def _take(
        self, arguments: list[Any], streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream]
    ) -> dict[_capture.FeedLeaf, Any]:
        fed: dict[_capture.FeedLeaf, Any] = {}
        for feed in self.feeds:
            if not feed.count:
                continue
            stream = _stand_in(feed.stream, streams, traced)
            count = _count(feed, arguments)
            element = stream.take_block(count, feed.count) if feed.block else stream.take()
            for index, leaf in enumerate(jax.tree.leaves(element)):
                fed[_capture.FeedLeaf(feed, index)] = leaf
        return fed


def calls_back(jaxpr: Any) -> bool:
    """Whether a jaxpr, or one inside it, calls back into Python while it runs."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in _CALLBACKS:
            return True
        if any(calls_back(inner) for inner in jax_core.jaxprs_in_params(equation.params)):
            return True
    return False


def _is_output(value: Any) -> bool:
    return isinstance(value, Output)


def _stand_in(
    stream: _stream.Stream, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream]
) -> _stream.Stream:
    """The stream of this call that takes the place of one that the program was traced with."""
    for now, then in zip(streams, traced, strict=True):
        if then is stream:
            return now
    return stream


def _count(feed: _capture.StreamFeed, known: Sequence[Any]) -> int:
    if feed.count_argument is None:
        return feed.count
    return int(np.asarray(known[feed.count_argument])) * feed.per_count


def _runs(feed: _capture.StreamFeed, stream: _stream.Stream, skip: int, count: int) -> Any:
    """The feed's structure if the stream's next elements have it throughout, else None."""
    if count > feed.count or (count < feed.count and 2 * count < feed.count):
        return None
    runs = stream.peek_runs(skip, count)
    if len(runs) == 1 and _same_structure(runs[0][0], feed.structure):
        return runs[0][0]
    return None


def _same_structure(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if not bool(jax.tree.structure(left) == jax.tree.structure(right)):  # type: ignore[operator]
        return False
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)


def _count_own_references() -> int:
    """What `sys.getrefcount` says of a value that only an attribute holds, and the local name that it is asked by."""
    holder = types.SimpleNamespace(value=object())
    value = holder.value
    return sys.getrefcount(value)


# 3 in CPython 3.11 to 3.13; it differs between versions.
_REFERENCES_OF_ITS_OWN = _count_own_references()


class _InterruptDeferred:
    """Holds Ctrl-C back for a block.

    The buffers that a program is given are gone once it is dispatched; an interrupt between that and the
    assignment of its results would leave variables without a value.
    """

    __slots__ = ("_came", "_handler")

    def __enter__(self) -> None:
        self._came: list[types.FrameType | None] = []
        self._handler: Any = None
        # A handler that was not installed from Python could not be put back.
        if threading.get_ident() == _MAIN_THREAD and _signal.getsignal(_SIGINT) is not None:
            came = self._came
            self._handler = _signal.signal(_SIGINT, lambda _, frame: came.append(frame))

    def __exit__(self, *_: object) -> None:
        handler = self._handler
        if (
            handler is None
        ):  # Another thread, or a handler that was not installed from Python: nothing to restore.
            return
        _signal.signal(_SIGINT, handler)
        if self._came and callable(handler):
            handler(signal.SIGINT, self._came[0])


_SIGINT = int(signal.SIGINT)
_MAIN_THREAD = threading.main_thread().ident
