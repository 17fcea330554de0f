"""One traced and compiled program, and how it is run without ever losing a variable (core layer)."""

import dataclasses
import functools
import sys
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import jax.extend.core
import keras
import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax._typing import PyTree
from stratax.core import (
    _afterwards,
    _arrivals,
    _body,
    _capture,
    _checks,
    _creation,
    _cuts,
    _dispatches,
    _driven,
    _driver,
    _extension,
    _parts,
    _placement,
    _ranges,
    _shared,
    _stream,
    _variable_store,
    jaxprs,
)
from stratax.core._interrupts import REFERENCES_IN_LIST, InterruptDeferred

# Before anything is traced, in which Keras refuses variables of values.
_creation.install()

# The primitives of JAX 0.10, and our own, that call Python while a program runs.
_CALLBACKS = (
    *("pure_callback", "io_callback", "debug_callback", "debug_print", "python_callback"),
    *("stratax_call", _checks.check_p.name),
)


@dataclasses.dataclass(slots=True)
class Output:
    """Where a program's result comes from: an array that it computed, or a value that is not one."""

    index: int | None
    constant: Any = None


# Traces a program's function once more: `retrace(memory, structures by loop) -> what was traced`.
Retrace = Callable[["_extension.Memory", dict[Any, Any]], tuple[Any, _capture.ProgramRegion]]


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
        sites: Where it asserts something.
        watches: What it must not be given.
    """

    # Whether there are loops in it that the host drives.
    is_driven = False

    def __init__(
        self,
        *,
        compiled: Callable[..., tuple[list[jax.Array], list[jax.Array]]],
        donated: list[keras.Variable],
        kept: list[Any],
        written: list[keras.Variable],
        feeds: list[_capture.StreamFeed],
        outputs: PyTree,
        placement: jax.sharding.Sharding | None,
        can_fail: bool,
        sites: list[_checks.Site],
        watches: list[_ranges.Watch],
    ) -> None:
        self.compiled = compiled
        self.donated = donated
        self.kept = kept
        self.written = written
        self.feeds = feeds
        self.placement = placement
        self.can_fail = can_fail
        self.sites = sites
        self.watches = watches
        # Flattened once: only the leaves change from call to call.
        self._output_leaves, self._output_tree = jax.tree.flatten(outputs, is_leaf=_is_output)
        # Where in `kept` each variable that is only read stands.
        self._kept_positions = [i for i, source in enumerate(kept) if isinstance(source, keras.Variable)]
        self._host_values = {
            i: source for i, source in enumerate(kept) if isinstance(source, _capture.HostValue)
        }
        self._read = [*donated, *(kept[position] for position in self._kept_positions)]
        self._written_parts = [each for each in written if isinstance(each, _parts.Parts)]
        self._parts_version = _parts.version[0]
        # The arrays that are known to be where the program needs them.
        # Ids, not arrays: a reference kept here would make each array look as if somebody else held it, and
        # `_inputs` would copy it.
        self._placed_ids: list[int] = [0] * len(self._read)
        # The types of the results, which whoever traced the program may set.
        self.result_types: Sequence[Any] = ()
        # What is done on the host after each run, set likewise.
        self.afterwards: Sequence[_afterwards.Afterwards] = ()
        self._has_feeds = bool(feeds)
        self._spans_processes = placement is not None and not placement.is_fully_addressable
        self._has_run = False

    def share(self, programs: _shared.CompiledPrograms, types: Hashable) -> None:
        """Have the first call look whether the same was compiled before.

        Args:
            programs: What was compiled before.
            types: The types of arguments and results.
        """
        compiled = self.compiled
        # What calls back calls the function that was traced, and so is not the same.
        if self.can_fail or not hasattr(compiled, "lower"):
            return

        def first(*arguments: Any) -> tuple[list[jax.Array], list[jax.Array]]:
            self.compiled = programs.same_as(compiled, arguments, types)
            return self.compiled(*arguments)

        self.compiled = first

    def matches(
        self, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream], known: Sequence[Any]
    ) -> bool:
        """Return whether the next elements of `streams` and the counts among the arguments fit this program."""
        if self._parts_version != _parts.version[0] and not self._knows_parts():
            return False
        # Asked first whether there are any: this is passed in every call.
        if self._host_values and not all(source.fits() for source in self._host_values.values()):
            return False
        # In the order of the feeds: what one takes moves its stream on for the next.
        taken: dict[int, int] = {}
        for feed in self.feeds:
            if feed.behind or isinstance(feed.stream, _stream.CallPass):
                continue  # Where the stream is then is known only when the loops before it have run.
            # Traced for exactly this count, because the elements' shapes differ from one iteration to the
            # next.
            if feed.pinned is not None and int(np.asarray(known[feed.pinned[0]])) != feed.pinned[1]:
                return False
            if not feed.count:
                continue
            count = _count(feed, known)
            # Not `feed.skip`: a feed before it may take fewer elements now than when it was traced.
            skip = taken.get(id(feed.stream), 0)
            if not _fits(feed, _stand_in(feed.stream, streams, traced), skip, count):
                return False
            taken[id(feed.stream)] = skip + count
        return True

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[_stream.Stream] = (),
        traced: Sequence[_stream.Stream] = (),
        retrace: Retrace | None = None,
    ) -> Any:
        """Run the program once and give the variables that it writes their new values."""
        _placement.check_fits(arguments)
        # Before Ctrl-C is held back: input may be long in coming.
        fed = self._take(arguments, streams, traced) if self._has_feeds else {}
        if self.watches:
            _ranges.check(self.watches, arguments, fed)
        _arrivals.settle_before_run()
        with InterruptDeferred():
            # From here to `write_all` the old buffers may be gone and the new ones not yet assigned.
            donated, kept = self._inputs(fed)
            try:
                written, results = self._dispatch(donated, kept, arguments)
            except ValueError as error:
                # An argument may be committed to other devices than the program's. JAX says so before it takes a
                # buffer, so nothing is lost; looking at every argument of every call would cost more than the rare
                # second attempt.
                if self.placement is None or "incompatible devices" not in str(error):
                    raise
                donated, kept, arguments = (self._moved(group) for group in (donated, kept, arguments))
                written, results = self._dispatch(donated, kept, arguments)
            if self.can_fail:
                # What a callback raises comes out here, before variables get values that were never computed.
                jax.block_until_ready((written, results))
                _checks.raise_failures(self.sites, self.placement)
            _variable_store.write_all(self.written, written)
            if self._written_parts:
                _parts.settle(self._written_parts)
            # The program leaves its results where it needs them: the next call need not look at them again.
            self._placed_ids[: len(self.donated)] = map(id, written[: len(self.donated)])
        if self.afterwards:
            self._act(streams, traced)
        return self._outputs(results)

    def _act(self, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream]) -> None:
        """Do what the function wants done with datasets."""
        for later in self.afterwards:
            later.act(_stand_in(later.source, streams, traced))

    def _knows_parts(self) -> bool:
        """Return whether no variable of the program has got parts since it was traced."""
        known = {id(each) for each in [*self._read, *self.written]}
        for variable in [*self._read, *self.written]:
            parts = _parts.parts_of(variable)
            if parts is not None and id(parts) not in known:
                return False
        self._parts_version = _parts.version[0]
        return True

    def output_types(self) -> Any:
        """Return the structure of the results, with their types in the places of arrays."""
        return self._outputs(self.result_types)

    def _outputs(self, results: Sequence[Any]) -> Any:
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
        # Any array of the call tells when it is done: a program's results become ready together.
        observer.dispatched(next(iter([*results[-1:], *written[-1:]]), None))
        return written, results

    def _inputs(self, fed: dict[_capture.FeedLeaf, Any]) -> tuple[list[Any], list[Any]]:
        """Return the arrays that the program takes, donated and kept, where it needs them.

        An array that is donated is about to go: where somebody else still holds it, a copy is.
        """
        values = _capture.concrete_values(self._read)
        ids = self._placed_ids
        # No local name for an array: it would count as one more that holds it.
        # Asking an array for its sharding is slow beside a comparison of ids, and arrays rarely move.
        for position, variable in enumerate(self._read):
            if id(values[position]) != ids[position]:
                values[position] = self._placed(variable, values[position])
                ids[position] = id(values[position])
        count = len(self.donated)
        for position in range(count):
            # Its variable and the list hold the array; whoever else does must find it whole after the call.
            if sys.getrefcount(values[position]) > REFERENCES_IN_LIST:
                values[position] = values[position].copy()
        kept: list[Any] = [None] * len(self.kept)
        for position, index in enumerate(self._kept_positions, count):
            kept[index] = values[position]
        for index, source in self._host_values.items():
            kept[index] = source.read()
        if fed:
            kept = [
                fed[source] if isinstance(source, _capture.FeedLeaf) else value
                for source, value in zip(self.kept, kept, strict=True)
            ]
        return values[:count], kept

    def _placed(self, variable: keras.Variable, value: jax.Array) -> jax.Array:
        """Return the variable's array, moved to where the program needs it, for good, if it is elsewhere.

        JAX would move it by itself: again on every call where it is only read, and, where it is written, with a
        second program for the second call, when the array is where the first call left it.
        """
        where = place_of(variable, self.placement)
        if where is None or (value.committed and value.sharding.is_equivalent_to(where, value.ndim)):
            return value
        placed = _placement.place(value, where)
        _variable_store.moved(variable, placed)
        return placed

    def _moved(self, group: Sequence[Any]) -> list[Any]:
        """Move the arrays, those that were committed to other devices than the program's on its own, all of them."""
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
            if feed.count:
                fed.update(_taken(feed, _stand_in(feed.stream, streams, traced), _count(feed, arguments)))
        return fed


class DrivenProgram(Program):
    """A program with loops that the host drives.

    Args:
        closed: What was traced, with markers for inputs.
        region: The region that was traced.
        outputs: The structure of results.
        donate: Whether variables' old buffers may be reused for their new values.
        can_fail: Whether the running program can raise.
        sites: Where it asserts something.
    """

    is_driven = True

    def __init__(
        self,
        closed: jax.extend.core.ClosedJaxpr,
        region: _capture.ProgramRegion,
        outputs: PyTree,
        *,
        donate: bool,
        can_fail: bool,
        sites: list[_checks.Site],
    ) -> None:
        sources, written = region.inputs, list(region.writes.values())
        super().__init__(
            compiled=_not_compiled,
            donated=[],
            kept=list(sources),
            written=written,
            feeds=region.feeds,
            outputs=outputs,
            placement=region.placement,
            # Of a driven program it also says that windows must not overwrite what they are given.
            can_fail=can_fail or not donate,
            sites=sites,
            watches=_ranges.watches_of(closed, sources, region.placement),
        )
        self.storage = region.storage
        self._jaxpr = closed.jaxpr
        self._constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        self._markers = jaxprs.markers_of(closed.jaxpr)
        self.memory = _extension.Memory(region.seen, region.structures, region.kept)
        self._passes = list(region.passes.values())
        self._cuts = _cuts.Cuts()
        first = next((e for e in jaxprs.equations(closed.jaxpr) if e.primitive in _body.DRIVEN), None)
        self._first_loop: _driven.Loop | None = None if first is None else first.params.get("loop")
        # Central storage: variables are kept elsewhere than where they are computed with, and are copied in
        # and out.
        self._moves = (
            self.storage is not None and self.placement is not None and self.storage != self.placement
        )

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[_stream.Stream] = (),
        traced: Sequence[_stream.Stream] = (),
        retrace: Retrace | None = None,
    ) -> Any:
        _placement.check_fits(arguments)
        _ranges.check(self.watches, arguments, {})
        _arrivals.settle_before_run()
        values = dict(self._constants)
        values.update(zip(self._jaxpr.invars, self._moved(arguments), strict=True))

        # An iterator that the function makes is begun once a call, however many places take from it.
        begun: dict[int, _stream.Stream] = {}

        def resolve(stream: Any) -> Any:
            if not isinstance(stream, _stream.CallPass):
                return _stand_in(stream, streams, traced)
            if id(stream) not in begun:
                begun[id(stream)] = stream.begin(_stand_in(stream.source, streams, traced))
            return begun[id(stream)]

        def take(number: int, into: dict[Any, Any]) -> None:
            # What stands behind a driven loop is taken only when the loop has run: before, nobody knows where its
            # streams will be.
            fed = [feed for feed in self.feeds if feed.behind == number and feed.count]
            for feed in fed:
                stream, count = resolve(feed.stream), _count(feed, arguments)
                # `matches` could not look at what comes behind a loop, or from an iterator that this call
                # began.
                if (number or begun) and not _fits(feed, stream, 0, count):
                    raise errors.TracingError(
                        "What an iterator gives here differs in shape from what it gave when the function was traced. "
                        f"Expected: {count} elements of {shown(feed.structure)}. Take elements whose shapes "
                        "vary by a loop."
                    )
                taken = _taken(feed, stream, count)
                _ranges.check(
                    [watch for watch in self.watches if not isinstance(watch.source, int)], [], taken
                )
                for leaf, value in taken.items():
                    into[self._markers[self.kept.index(leaf)]] = value

        run = _driver.Run(
            self._cuts,
            resolve=resolve,
            take=take,
            extend=functools.partial(_extension.extend, self, retrace),
            placement=self.placement,
            storage=self.storage,
            can_fail=self.can_fail,
            sites=self.sites,
            spans_processes=self._spans_processes,
        )
        try:
            # Inside of the `try`: whatever fails, variables get what the loops so far have left them with.
            self._read_variables(values)
            run.top(self._jaxpr, values)
            results = [_driver.value_of(atom, values) for atom in self._jaxpr.outvars]
            with InterruptDeferred():
                # Assigned together, so that an interrupt can't leave some of them behind the others.
                new = [
                    self._stored(variable, value)
                    for variable, value in zip(self.written, results[: len(self.written)], strict=True)
                ]
                _variable_store.write_all(self.written, new)
                _parts.settle(self._written_parts)
                run.forget_held()
        except BaseException:
            with InterruptDeferred():
                run.commit_held()
            raise
        finally:
            # A pass that was opened while tracing, and that no run went on with, has threads and files.
            for made in (*self._passes, *begun.values()):
                made.close()  # type: ignore[attr-defined]
        if self.afterwards:
            self._act(streams, traced)
        return self._outputs(results[len(self.written) :])

    def matches(
        self, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream], known: Sequence[Any]
    ) -> bool:
        if not super().matches(streams, traced, known):
            return False
        # Only the first loop's elements can be looked at before anything has run; a later loop is traced anew where
        # its elements don't fit (`_extension`).
        if self._first_loop is None:
            return True
        for position, take in enumerate(self._first_loop.takes):
            stream = _stand_in(take.stream, streams, traced)
            # A pass begins anew with each run: its first element can't be seen without reading it.
            if isinstance(stream, _stream.Pass):
                continue
            skip = sum(
                _count(feed, known) for feed in self.feeds if feed.stream is take.stream and not feed.behind
            )
            runs = stream.peek_up_to(skip, 1)
            structures = [step.structures[position] for step in self._first_loop.steps]
            if runs and not any(_driven.same_structure(runs[0][0], each) for each in structures):
                return False
        return True

    @property
    def traced(self) -> _extension.Traced:
        """The traced jaxpr, its inputs and feeds, as a later trace of the same function is compared with."""
        return _extension.Traced(self._jaxpr, self.kept, self.feeds)

    def _read_variables(self, values: dict[Any, Any]) -> None:
        wanted = [position for position, index in enumerate(self._kept_positions) if index in self._markers]
        variables = [self._read[position] for position in wanted]
        for position, variable, value in zip(
            wanted, variables, _capture.concrete_values(variables), strict=True
        ):
            if self._moves:
                # A copy, never an alias: what a loop carries is overwritten.
                value = jax.device_put(value, self.placement, may_alias=False)
            elif id(value) != self._placed_ids[position]:
                value = self._placed(variable, value)
            values[self._markers[self._kept_positions[position]]] = value
        for index, source in self._host_values.items():
            now = source.read()
            values[self._markers[index]] = (
                now if self.placement is None else _placement.place(now, self.placement)
            )

    def _stored(self, variable: keras.Variable, value: object) -> Any:
        # What was copied for the computation goes back to where it is stored.
        where = place_of(variable, self.storage if self._moves else self.placement)
        if where is None:
            return value
        if (
            isinstance(value, jax.Array)
            and value.committed
            and value.sharding.is_equivalent_to(where, value.ndim)
        ):
            return value
        return jax.device_put(value, where) if where.is_fully_addressable else _placement.place(value, where)


def place_of(variable: keras.Variable, placement: Any) -> Any:
    """Return where a variable's value has to be in a program that has its variables in one place."""
    return variable.sharding if isinstance(variable, _parts.Parts) else placement


def _not_compiled(*_: object) -> Any:
    raise AssertionError  # Such a program is run part by part.


def sites_of(jaxpr: jax.extend.core.Jaxpr) -> list[_checks.Site]:
    """Return where a jaxpr, or one inside it, asserts something."""
    return _checks.sites_of(jaxpr, _driven.inside)


def calls_back(jaxpr: jax.extend.core.Jaxpr) -> bool:
    """Return whether a jaxpr, or one inside it, calls back into Python while it runs."""
    return jaxprs.contains(jaxpr, is_call, _driven.inside)


def is_call(equation: Any) -> bool:
    """Return whether an operation of a jaxpr calls Python."""
    return equation.primitive.name in _CALLBACKS


def _is_output(value: object) -> bool:
    return isinstance(value, Output)


def _stand_in(
    stream: _stream.Stream, streams: Sequence[_stream.Stream], traced: Sequence[_stream.Stream]
) -> _stream.Stream:
    """Return the stream of this call that takes the place of one that the program was traced with."""
    for now, then in zip(streams, traced, strict=True):
        if then is stream:
            return now
    return stream


def _count(feed: _capture.StreamFeed, known: Sequence[Any]) -> int:
    if feed.count_argument is None:
        return feed.count
    return int(np.asarray(known[feed.count_argument])) * feed.per_count


def _fits(feed: _capture.StreamFeed, stream: _stream.Stream, skip: int, count: int) -> bool:
    """Return whether the stream's next elements have the feed's structure throughout."""
    # `take_block` fills a block up with rows that are not used. Up to half of them may be such; for fewer elements
    # a program of their own is worth its compilation.
    if count > feed.count or (count < feed.count and 2 * count < feed.count):
        return False
    if feed.is_optional:
        runs = stream.peek_up_to(skip, 1)
        return not runs or _driven.same_structure(runs[0][0], feed.structure[1])
    runs = stream.peek_runs(skip, count)
    return len(runs) == 1 and _driven.same_structure(runs[0][0], feed.structure)


def _taken(feed: _capture.StreamFeed, stream: _stream.Stream, count: int) -> dict[_capture.FeedLeaf, Any]:
    """Take a feed's elements from its stream, as arrays by leaf."""
    if feed.is_optional:
        present = bool(stream.peek_up_to(0, 1))
        described = jax.tree.leaves(feed.structure[1])
        value = stream.take() if present else [np.zeros(leaf.shape, leaf.dtype) for leaf in described]
        leaves = [np.bool_(present), *jax.tree.leaves(value)]
    else:
        leaves = jax.tree.leaves(stream.take_block(count, feed.count) if feed.block else stream.take())
    _placement.check_fits(leaves)
    return {_capture.FeedLeaf(feed, index): leaf for index, leaf in enumerate(leaves)}
