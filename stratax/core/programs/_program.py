"""One traced and compiled program, and how it is run without ever losing a variable (core layer)."""

import dataclasses
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import jax
import jax.extend.core
import keras
import numpy as np
from jax.sharding import NamedSharding

from stratax.base.typing import PyTree
from stratax.core import control, host, jaxprs, regions, state, storage
from stratax.core.known import Watch, check_ranges
from stratax.core.programs import _afterwards, _shared
from stratax.core.storage import REFERENCES_IN_LIST, InterruptDeferred

# Before anything is traced, in which Keras refuses variables of values.
state.install()

# The primitives of JAX 0.10, and our own, that call Python while a program runs.
_CALLBACKS = (
    *("pure_callback", "io_callback", "debug_callback", "debug_print", "python_callback"),
    *("stratax_call", host.check_p.name),
)


@dataclasses.dataclass(slots=True)
class Output:
    """Where a program's result comes from: an array that it computed, or a value that is not one."""

    index: int | None
    constant: Any = None
    # Axes of which only so much counts as another result says, and that result's number.
    counts: tuple[tuple[int, int], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class TraceMemory:
    """What the traces of one program share: what streams have shown, what loops were traced for, what replicas keep."""

    seen: dict[Any, Any]
    structures: dict[regions.Path, list[Any]]
    kept: list[Any]


# Traces a program's function once more: `retrace(memory, structures by loop) -> what was traced`.
Retrace = Callable[[TraceMemory, dict[Any, Any]], tuple[Any, regions.ProgramRegion]]


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
        argument_places: Where its arguments have to be that devices have in parts, by position; None for others.
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
        feeds: list[regions.StreamFeed],
        outputs: PyTree,
        placement: jax.sharding.Sharding | None,
        can_fail: bool,
        sites: list[host.Site],
        watches: list[Watch],
        argument_places: regions.Places = (),
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
        # Whether they are what the program computes, in that order.
        places = [None if each.counts else each.index for each in self._output_leaves]
        self._gives_all = places == [*range(len(places))]
        # Where in `kept` each variable that is only read stands.
        self._kept_positions = [i for i, source in enumerate(kept) if isinstance(source, keras.Variable)]
        self._host_values = {
            i: source for i, source in enumerate(kept) if isinstance(source, regions.HostValue)
        }
        self._read = [*donated, *(kept[position] for position in self._kept_positions)]
        self._written_parts = [each for each in written if isinstance(each, state.Parts)]
        # Where the program has no place for them, XLA leaves new values wherever it likes.
        self._divided = [
            position
            for position, variable in enumerate(written)
            if placement is None and isinstance(getattr(variable, "_layout", None), NamedSharding)
        ]
        self._parts_version = state.version[0]
        # The arrays that are known to be where the program needs them.
        # Ids, not arrays: a reference kept here would make each array look as if somebody else held it, and
        # `_inputs` would copy it.
        self._placed_ids: list[int] = [0] * len(self._read)
        # The types of the results, which whoever traced the program may set.
        self.result_types: Sequence[Any] = ()
        # What is done on the host after each run, set likewise.
        self.afterwards: Sequence[_afterwards.Afterwards] = ()
        self._has_feeds = bool(feeds)
        self._argument_places = {
            index: place
            for index, place in enumerate(argument_places)
            if place is not None and not place.is_fully_replicated
        }
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

        def first(*arguments: object) -> tuple[list[jax.Array], list[jax.Array]]:
            self.compiled = programs.same_as(compiled, arguments, types)
            return self.compiled(*arguments)

        self.compiled = first

    def matches(
        self, streams: Sequence[regions.Stream], traced: Sequence[regions.Stream], known: Sequence[Any]
    ) -> bool:
        """Return whether the next elements of `streams` and the counts among the arguments fit this program."""
        if self._parts_version != state.version[0] and not self._knows_parts():
            return False
        # Asked first whether there are any: this is passed in every call.
        if self._host_values and not all(source.fits() for source in self._host_values.values()):
            return False
        # In the order of the feeds: what one takes moves its stream on for the next.
        taken: dict[int, int] = {}
        for feed in self.feeds:
            if feed.behind or isinstance(feed.stream, regions.CallPass):
                continue  # Where the stream is then is known only when the loops before it have run.
            # Traced for exactly this count, because the elements' shapes differ from one iteration to the
            # next.
            if feed.pinned is not None and int(np.asarray(known[feed.pinned[0]])) != feed.pinned[1]:
                return False
            if not feed.count:
                continue
            count = count_of(feed, known)
            # Not `feed.skip`: a feed before it may take fewer elements now than when it was traced.
            skip = taken.get(id(feed.stream), 0)
            if not fits(feed, stand_in(feed.stream, streams, traced), skip, count):
                return False
            taken[id(feed.stream)] = skip + count
        return True

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[regions.Stream] = (),
        traced: Sequence[regions.Stream] = (),
        retrace: Retrace | None = None,
    ) -> Any:
        """Run the program once and give the variables that it writes their new values."""
        storage.check_fits(arguments)
        if self._argument_places:
            arguments = self._divide(arguments)
        # Before Ctrl-C is held back: input may be long in coming.
        fed = self._take(arguments, streams, traced) if self._has_feeds else {}
        if self.watches:
            check_ranges(self.watches, arguments, fed)
        if host.awaited:
            host.settle_before_run()
        with InterruptDeferred():
            # From here to `write_all` the old buffers may be gone and the new ones not yet assigned.
            donated, kept = self._inputs(fed)
            try:
                written, results = self._run(donated, kept, arguments)
            except jax.errors.JaxRuntimeError as error:
                host.raise_own(error)
                storage.refuse_exhausted(error, self._find_held())
                raise
            if self.can_fail:
                host.raise_failures(self.sites, self.placement)
            for position in self._divided:
                written[position] = jax.device_put(written[position], self.written[position]._layout)
            storage.write_all(self.written, written)
            if self._written_parts:
                state.settle(self._written_parts)
            # The program leaves its results where it needs them: the next call need not look at them again.
            self._placed_ids[: len(self.donated)] = map(id, written[: len(self.donated)])
        if self.afterwards:
            self._act(streams, traced)
        return self._outputs(results)

    def _run(self, donated: list[Any], kept: list[Any], arguments: list[Any]) -> tuple[list[Any], list[Any]]:
        """Run what is compiled; return the variables' new values and the results."""
        dispatch = self._dispatch_observed if self._spans_processes else self.compiled
        try:
            made = dispatch(donated, kept, arguments)
        except ValueError as error:
            # An argument may be committed to other devices than the program's. JAX says so before it takes a buffer,
            # so nothing is lost; looking at every argument of every call would cost more than the rare second attempt.
            if self.placement is None or "incompatible devices" not in str(error):
                raise
            made = dispatch(*(self._move(group) for group in (donated, kept, arguments)))
        if self.can_fail:
            # What a callback raises comes out here, before variables get values that were never computed.
            jax.block_until_ready(made)
        return made

    def _find_held(self) -> list[tuple[keras.Variable, Any]]:
        """Return the variables that devices have while the program runs, and where each lies."""
        variables = [each for each in self._read if not isinstance(each, state.Parts)]
        return [(each, place_of(each, self.placement)) for each in variables]

    def _act(self, streams: Sequence[regions.Stream], traced: Sequence[regions.Stream]) -> None:
        """Do what the function wants done with datasets."""
        for later in self.afterwards:
            later.act(stand_in(later.source, streams, traced))

    def _knows_parts(self) -> bool:
        """Return whether no variable of the program has got parts since it was traced."""
        known = {id(each) for each in [*self._read, *self.written]}
        for variable in [*self._read, *self.written]:
            parts = state.parts_of(variable)
            if parts is not None and id(parts) not in known:
                return False
        self._parts_version = state.version[0]
        return True

    def output_types(self) -> Any:
        """Return the structure of the results, with their types in the places of arrays."""
        return self._outputs(self.result_types)

    def _outputs(self, results: Sequence[Any]) -> Any:
        leaves = self._output_leaves
        if self._gives_all:
            found = results[: len(leaves)]
        else:
            found = [leaf.constant if leaf.index is None else _cut(leaf, results) for leaf in leaves]
        return jax.tree.unflatten(self._output_tree, found)

    def _dispatch_observed(
        self, donated: list[jax.Array], kept: list[jax.Array], arguments: list[Any]
    ) -> tuple[list[jax.Array], list[jax.Array]]:
        """Dispatch a program that waits for other processes, as whoever watches over them is told."""
        observer = storage.observer()
        if observer is None:
            return self.compiled(donated, kept, arguments)
        # JAX compiles in the first call.
        with observer.dispatching() if self._has_run else observer.compiling():
            written, results = self.compiled(donated, kept, arguments)
        self._has_run = True
        # Any array of the call tells when it is done: a program's results become ready together.
        observer.note_dispatched(next(iter([*results[-1:], *written[-1:]]), None))
        return written, results

    def _inputs(self, fed: dict[regions.FeedLeaf, Any]) -> tuple[list[Any], list[Any]]:
        """Return the arrays that the program takes, donated and kept, where it needs them.

        An array that is donated is about to go: where somebody else still holds it, a copy is.
        """
        values = storage.read_all(self._read)
        ids = self._placed_ids
        # No local name for an array: it would count as one more that holds it.
        # Asking an array for its sharding is slow beside a comparison of ids, and arrays rarely move.
        for position, variable in enumerate(self._read):
            if id(values[position]) != ids[position]:
                values[position] = self._place(variable, values[position])
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
                fed[source] if isinstance(source, regions.FeedLeaf) else value
                for source, value in zip(self.kept, kept, strict=True)
            ]
        return values[:count], kept

    def _place(
        self, variable: keras.Variable, value: "jax.Array | storage.NoValue | None"
    ) -> jax.Array | jax.ShapeDtypeStruct:
        """Return the variable's array, moved to where the program needs it, for good, if it is elsewhere.

        A variable that has no value yet is given its first one.

        JAX would move it by itself: again on every call where it is only read, and, where it is written, with a
        second program for the second call, when the array is where the first call left it.
        """
        if value is None:
            value = regions.concrete_value(variable)
        where = place_of(variable, self.placement)
        # A `storage.NoValue`, which few programs ever import.
        if isinstance(value, jax.ShapeDtypeStruct):
            if not regions.is_heard():
                value.refuse()
            # Whoever listens compiles the program; it is not run.
            return jax.ShapeDtypeStruct(value.shape, value.dtype, sharding=where)
        if where is None or (value.committed and value.sharding.is_equivalent_to(where, value.ndim)):
            return value
        placed = storage.place(value, where)
        storage.note_moved(variable, placed)
        return placed

    def _divide(self, arguments: list[Any]) -> list[Any]:
        """Return the arguments with those in parts that devices are to have parts of: JAX would give each the whole."""
        divided = list(arguments)
        for index, place in self._argument_places.items():
            value = divided[index]
            # As part of another program they are where that has them.
            is_there = isinstance(value, jax.core.Tracer) or (
                isinstance(value, jax.Array) and value.sharding.device_set == place.device_set
            )
            if not is_there:
                divided[index] = storage.place(value, place)
        return divided

    def _move(self, group: Sequence[Any]) -> list[Any]:
        """Move the arrays, those that were committed to other devices than the program's on its own, all of them."""
        placement = self.placement
        if placement is None:
            return list(group)
        devices = placement.device_set
        return [
            array
            if isinstance(array, jax.Array) and array.sharding.device_set == devices
            else storage.place(array, placement)
            for array in group
        ]

    def _take(
        self, arguments: list[Any], streams: Sequence[regions.Stream], traced: Sequence[regions.Stream]
    ) -> dict[regions.FeedLeaf, Any]:
        fed: dict[regions.FeedLeaf, Any] = {}
        for feed in self.feeds:
            if feed.count:
                fed.update(take_from(feed, stand_in(feed.stream, streams, traced), count_of(feed, arguments)))
        return fed


def _cut(leaf: Output, results: Sequence[Any]) -> Any:
    """Return a result, as much of it as counts."""
    array = results[leaf.index]  # type: ignore[index]
    for axis, number in leaf.counts:
        array = jax.lax.slice_in_dim(array, 0, int(results[number]), axis=axis)
    return array


def place_of(variable: keras.Variable, placement: object) -> Any:
    """Return where a variable's value has to be in a program that has its variables in one place."""
    if isinstance(variable, state.Parts):
        return variable.sharding
    # Asked here: this is passed for many variables.
    return placement if variable._layout is None else storage.sharding_in(variable, placement)


def options_of(variables: Iterable[object], placement: object) -> dict[str, Any]:
    """Return options of `jax.jit` for a program, by what its variables are.

    libtpu of 2026 sums what is to be divided on all devices, and many sums at once, so that whole gradients of many
    layers are there together: no more at once than the largest of them.
    """
    if not isinstance(placement, NamedSharding) or placement.mesh.devices.flat[0].platform != "tpu":
        return {}
    divided = [
        math.prod(variable.shape) * np.dtype(variable.dtype).itemsize
        for variable in variables
        if isinstance(variable, keras.Variable) and place_of(variable, placement) is not placement
    ]
    limit = {"xla_jf_crs_combiner_threshold_in_bytes": str(max(divided, default=0))}
    return {"compiler_options": limit} if divided else {}


def are_whole(variables: Sequence[keras.Variable], placement: object) -> list[bool]:
    """Return, for each variable, whether every device of a program has all of its value."""
    places = [place_of(variable, placement) for variable in variables]
    if placement is None:
        values = storage.read_all(variables)
        places = [
            value.sharding if place is None and isinstance(value, jax.Array) else place
            for place, value in zip(places, values, strict=True)
        ]
    return [place is not None and bool(place.is_fully_replicated) for place in places]


def sites_of(jaxpr: jax.extend.core.Jaxpr) -> list[host.Site]:
    """Return where a jaxpr, or one inside it, asserts something."""
    return host.sites_of(jaxpr, control.inside)


def calls_back(jaxpr: jax.extend.core.Jaxpr) -> bool:
    """Return whether a jaxpr, or one inside it, calls back into Python while it runs."""
    return jaxprs.contains(jaxpr, is_call, control.inside)


def is_call(equation: Any) -> bool:
    """Return whether an operation of a jaxpr calls Python."""
    return equation.primitive.name in _CALLBACKS


def _is_output(value: object) -> bool:
    return isinstance(value, Output)


def stand_in(
    stream: regions.Stream, streams: Sequence[regions.Stream], traced: Sequence[regions.Stream]
) -> regions.Stream:
    """Return the stream of this call that takes the place of one that the program was traced with."""
    for now, then in zip(streams, traced, strict=True):
        if then is stream:
            return now
    return stream


def count_of(feed: regions.StreamFeed, known: Sequence[Any]) -> int:
    if feed.count_argument is None:
        return feed.count
    return int(np.asarray(known[feed.count_argument])) * feed.per_count


def fits(feed: regions.StreamFeed, stream: regions.Stream, skip: int, count: int) -> bool:
    """Return whether the stream's next elements have the feed's structure throughout."""
    # `take_block` fills a block up with rows that are not used. Up to half of them may be such; for fewer elements
    # a program of their own is worth its compilation.
    if count > feed.count or (count < feed.count and 2 * count < feed.count):
        return False
    if feed.is_optional:
        runs = stream.peek_up_to(skip, 1)
        return not runs or control.same_structure(runs[0][0], feed.structure[1])
    runs = stream.peek_runs(skip, count)
    return len(runs) == 1 and control.same_structure(runs[0][0], feed.structure)


def take_from(feed: regions.StreamFeed, stream: regions.Stream, count: int) -> dict[regions.FeedLeaf, Any]:
    """Take a feed's elements from its stream, as arrays by leaf."""
    if feed.is_optional:
        present = bool(stream.peek_up_to(0, 1))
        described = jax.tree.leaves(feed.structure[1])
        value = stream.take() if present else [np.zeros(leaf.shape, leaf.dtype) for leaf in described]
        leaves = [np.bool_(present), *jax.tree.leaves(value)]
    else:
        leaves = jax.tree.leaves(stream.take_block(count, feed.count) if feed.block else stream.take())
    storage.check_fits(leaves)
    return {regions.FeedLeaf(feed, index): leaf for index, leaf in enumerate(leaves)}
