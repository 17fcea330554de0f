"""Loops of compiled functions: `for _ in stratax.range(n)`, rows of arrays, `while` on arrays (core layer).

The body is traced once. What it assigns (locals, variables) is carried from one iteration to the next, what it only
reads is closed over, and what it takes from streams comes in as one block for the whole loop. A loop of a known number
of iterations is a `jax.lax.scan`, one of a traced number a `jax.lax.fori_loop`, and one that can end early (`while`,
`break`, `return`) a `jax.lax.while_loop`.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.tree_util
import keras

from stratax import errors
from stratax.base.callers import stack_level
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import jaxprs, regions
from stratax.core.control import (
    _body,
    _carry,
    _conditions,
    _driven,
    _feeding,
    _growing,
    _iterated,
    _iterators,
    _locals,
    _range,
)
from stratax.core.control._locals import as_predicate

# For how many shapes of elements a loop is traced without a warning.
_MAX_SHAPES = 5
# How often a body is traced at most until the dtypes of Python numbers on entry are known.
_MAX_TRACES = 3
_FIX = (
    "Give it its final shape and dtype before the loop (`keras.ops.zeros(shape, dtype)`), or cast what the loop "
    "assigns with `keras.ops.cast`."
)


def for_stmt(
    iterated: object,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """Run `for ... in iterated: body`, compiled over :func:`stratax.range` and the rows of arrays, else Python's.

    Args:
        iterated: What to go through.
        extra_test: Whether to go on, where the body contains `break` or `return`.
        body: The body, of one element.
        get_state: Gives the values of the locals in `names`.
        set_state: Sets them.
        names: The locals that the body assigns.
        options: Unused.

    Raises:
        TracingError: If the loop can't be compiled: a local changes its type, or the number of iterations has to be
            known and is not.
    """
    parent = regions.current_region()
    elements = None if parent is None else _elements(iterated, parent)
    if elements is None:
        if parent is not None or not _growing.is_watched("loop", iterated, body, get_state, set_state):
            _python_for(iterated, extra_test, body)
        return
    keep_going = extra_test() if extra_test is not None else True
    # Not traced at all, as Python would not run the body: it may not be valid for no elements.
    if (isinstance(elements.length, int) and elements.length == 0) or keep_going is False:
        return
    TracedLoop(parent, elements, body, extra_test, get_state, set_state, names).compile(keep_going)


def reduce(iterated: object, initial: object, function: Callable[[Any, Any], Any]) -> Any:
    """Fold a dataset's elements into a state, `state = function(state, element)` for each, in one compiled loop."""
    # A list of one, as `for_stmt` reads and assigns locals through functions.
    state = [initial]

    def body(element: PyTree) -> None:
        state[0] = function(state[0], element)

    def set_state(values: Sequence[Any]) -> None:
        state[:] = values

    for_stmt(iterated, None, body, lambda: tuple(state), set_state, ("state",), {})
    return state[0]


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """Run `while test: body`: compiled from the first time that the condition is an array, until then Python's."""
    parent = regions.current_region()
    if parent is None and _growing.is_watched("while", body, get_state, set_state):
        return
    while True:
        keep_going = _conditions.read(test())
        if parent is not None and _conditions.is_traced(keep_going):
            break
        if not keep_going:
            return
        body()
    loop = TracedLoop(parent, _carry.Elements(None), lambda _: body(), test, get_state, set_state, names)
    loop.compile(keep_going)


def while_loop(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    limit: int | None = None,
) -> None:
    """Put `while test: body` into the program that is being traced, also where Python could decide the first test.

    Args:
        test: Whether to go on.
        body: The body.
        get_state: Gives the values of the locals in `names`.
        set_state: Sets them.
        names: The locals that the body assigns.
        limit: The largest number of iterations.
    """
    parent = regions.current_region()
    TracedLoop(parent, _carry.Elements(limit), lambda _: body(), test, get_state, set_state, names).compile(
        test()
    )


def _python_for(iterated: Any, extra_test: Callable[[], Any] | None, body: Callable[[Any], None]) -> None:
    _iterators.check(iterated)
    if extra_test is not None and not _go_on(extra_test()):
        return
    for element in iterated:
        body(element)
        if extra_test is not None and not _go_on(extra_test()):
            return


def _go_on(test: object) -> bool:
    if _conditions.is_traced(test):
        raise errors.TracingError(
            "`break` or `return` in a Python loop of a compiled function depends on an array: Python can't know while "
            "tracing when to stop. Expected: a loop over `stratax.range(n)` or over an array, which are compiled. "
            f"Received: a condition of type {_locals.describe('', test)}."
        )
    return bool(test)


def _elements(iterated: object, parent: regions.Region) -> _carry.Elements | None:
    """Return how a compiled loop goes through `iterated`, or None where Python does."""
    if _iterated.is_stream(iterated):
        return _iterated.elements(iterated)
    if isinstance(iterated, _range.TracedRange):
        # Only then is the number of iterations the very object `stop`, which may be an argument of the
        # function.
        counts_up = isinstance(iterated.start, int) and iterated.start == 0 and iterated.delta == 1
        largest = max(iterated, default=None) if iterated.is_static else None
        return _carry.Elements(
            iterated.length, iterated.element, iterated.stop if counts_up else None, largest=largest
        )
    if isinstance(iterated, keras.Variable):
        iterated = iterated.value
    if isinstance(iterated, jax.Array):
        if iterated.ndim == 0:
            raise errors.TracingError(
                "A loop can't go through a scalar. Expected: an array with at least one dimension, or "
                f"`stratax.range(n)`. Received: an array of type {_locals.describe('', iterated)}."
            )
        return _carry.Elements(
            iterated.shape[0], lambda i: jax.lax.dynamic_index_in_dim(iterated, i, 0, keepdims=False)
        )
    return None


class TracedLoop:
    """One loop while it is compiled."""

    def __init__(
        self,
        parent: Any,
        elements: _carry.Elements,
        body: Callable[[Any], None],
        test: Callable[[], Any] | None,
        get_state: Callable[[], tuple[Any, ...]],
        set_state: Callable[[Sequence[Any]], None],
        names: Sequence[str],
    ) -> None:
        self.parent: regions.Region = parent
        self.elements = elements
        self.body = body
        self.test = test
        self.get_state = get_state
        self.set_state = set_state
        self.names = names
        self.path = parent.next_path()
        streams = [self._pass(number, stream) for number, stream in enumerate(elements.streams)]
        self.elements = dataclasses.replace(elements, streams=tuple(streams))

    def _pass(self, number: int, stream: object) -> Any:
        """Return the pass over a dataset that the loop makes: one and the same in all traces of the loop."""
        if not isinstance(stream, regions.StreamSource):
            return stream
        # Of a loop around this one, whatever the structure of its elements: negative parts count those.
        key = (*(max(part, -1) for part in self.path), number)
        made = self.parent.program.passes.setdefault(key, regions.Pass(stream))
        made.source = stream
        return made

    def compile(self, keep_going: object) -> None:
        """Trace the loop and put it into the program around it."""
        entry = self._entry()
        # Traced before it is decided what kind of loop it is: the trace tells what it takes.
        traced, entry = self._trace(entry, {})
        if not traced.region.taken_elements and not traced.block.is_driven:
            self._run(traced, entry, self.elements, keep_going, [])
            return
        if not self._fits_one_window(traced):
            self._drive(traced, entry, keep_going)
            return
        segments = _feeding.plan(self.parent, traced.region, self.elements.length, self.elements.bound)
        offset = 0
        for number, segment in enumerate(segments):
            # Elements of another structure need a body of their own: one loop behind the other.
            if number:
                traced, entry = self._trace(self._entry(), segment.structures)
            elements = self.elements if len(segments) == 1 else self.elements.part(offset, segment.count)
            # Taken now and not before: the segments before this one take their elements first.
            blocks = segment.feed(self.parent, traced.region)
            if segment.count:
                self._run(traced, entry, elements, True, blocks)
            offset += segment.count

    def over_rows(self, leaves: list[Any], *, keep: bool) -> tuple[Any, Any]:
        """Put a loop over the rows of arrays into the program; see :func:`for_rows` and :func:`scan_rows`."""
        traced, entry = self._trace(self._entry(), {})
        result = traced.exits[-1]
        # What is kept of every iteration need not be carried from one to the next.
        carry = _carry.Carry(self.parent, entry[:-1] if keep else entry, [traced])
        kept = [traced.arrays[id(leaf)] for leaf in result.leaves] if keep else []
        values, rows = _carry.Runner(carry, self.elements, leaves).scan(kept)
        self._take_over(carry, values, traced)
        after = carry.locals_after(values, always_runs=True)
        return after[0], result.unpack(dict(enumerate(rows))) if keep else after[1]

    def _fits_one_window(self, traced: _carry.Body) -> bool:
        """Return whether the program can take all that the loop needs before it runs."""
        region = traced.region
        # How many elements such a loop needs is known only when it has run.
        if self.test is not None or self.elements.streams or traced.block.is_driven:
            return False
        # Whether the branch runs is known only on the devices; input that the program has taken would be lost if it
        # does not.
        if isinstance(self.parent, _body.BranchRegion):
            return False
        if any(taken.is_optional for taken in region.taken_elements):
            return False
        count = _feeding.find_known_count(self.parent, self.elements.length, self.elements.bound)
        if count is None:
            return False
        size = 0
        for taken in region.taken_elements:
            leaves = jax.tree.leaves(taken.structure)
            size += count * taken.count * sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
        most = max(region.per_iteration(taken.stream) for taken in region.taken_elements)
        # One iteration is taken whatever its size: there is no smaller window.
        return count * most <= _driven.WINDOW_STEPS and (size <= _driven.WINDOW_BYTES or count == 1)

    def _drive(self, traced: _carry.Body, entry: list[_locals.PackedLocal], keep_going: object) -> None:
        """Have the host drive the loop, window by window."""
        if not _can_drive_from(self.parent):
            # Raises what `next(iterator)` itself raises there.
            _body.feeding_region(self.parent, traced.region.first_stream())
        takes = _driven.takes_of([traced.region], self.elements.streams)
        bodies, entry = self._bodies(traced, entry, takes)
        carry = _carry.Carry(self.parent, entry, bodies)
        has_test = self.test is not None
        made = [
            _driven.step_of(carry, k, body, self._element, takes, has_test=has_test)
            for k, body in enumerate(bodies)
        ]
        length = self.elements.length
        # Variables stand behind the locals among what is carried.
        offset = len(carry.slots)
        loop = _driven.DrivenLoop(
            path=self.path,
            results=_driven.results_of(carry.initial),
            variables={offset + i: variable for i, variable in enumerate(carry.variables)},
            takes=takes,
            length=length if length is None or isinstance(length, int) else "operand",
            test=0 if has_test else None,
            steps=[step for step, _ in made],
        )
        _driven.check_order(self.parent.program, loop)
        values = _driven.bind(
            self.parent,
            loop,
            carry.initial,
            [constants for _, constants in made],
            keep_going=as_predicate(keep_going, "while") if has_test else None,
            length=length,
        )
        self.set_state(carry.locals_after(values, always_runs=isinstance(length, int) and not has_test))
        for variable, value in zip(carry.variables, values[offset:], strict=True):
            self.parent.take_over(variable, value, *[body.region for body in bodies])

    def _bodies(
        self, traced: _carry.Body, entry: list[_locals.PackedLocal], takes: list[_driven.LoopTake]
    ) -> tuple[list[_carry.Body], list[_locals.PackedLocal]]:
        """Return the body for each structure of elements that is known."""
        wanted = self._structures(traced, takes)
        bodies = [traced]
        while len(bodies) < len(wanted):
            number, structures = wanted[len(bodies)]
            body, promoted = self._trace(entry, structures, number)
            if promoted is not entry:
                # Another dtype on entry: what was traced before does not fit any more.
                entry, bodies = promoted, []
                continue
            bodies.append(body)
        return bodies, entry

    def _structures(
        self, traced: _carry.Body, takes: list[_driven.LoopTake]
    ) -> list[tuple[int, dict[int, Any]]]:
        """Return the structures to trace the body for, and their numbers: the first elements', and those in sight.

        When a running program is traced once more they are the first elements' and those that the run has met.
        """
        program = self.parent.program
        found = [[traced.region.structure(take.stream) for take in takes]]
        if program.hints:
            found += program.hints.get(self.path, [])
        elif len(takes) == 1 and self.test is None and isinstance(takes[0].stream, regions.Pass):
            count = _driven.window_of(found[0], [1])
            in_sight = self.parent.peek(takes[0].stream, 0, count, up_to=True)
            found += [[structure] for structure, _ in in_sight]
        unique: list[list[Any]] = []
        for structures in found:
            if not any(_driven.same_structures(structures, other) for other in unique):
                unique.append(structures)
        if len(unique) > _MAX_SHAPES and not program.hints:
            warnings.warn(
                f"A loop over a dataset is traced for {len(unique)} shapes of its elements, which is slow. Keep shapes "
                "equal (`batch(..., drop_remainder=True)`, padding).",
                RuntimeWarning,
                stacklevel=stack_level(),
            )
        return [
            (
                _driven.number_of(program, self.path, structures),
                {id(take.stream): structure for take, structure in zip(takes, structures, strict=True)},
            )
            for structures in unique
        ]

    def _element(self, index: object) -> Any:
        return index if self.elements.at is None else self.elements.at(index)

    def _entry(self) -> list[_locals.PackedLocal]:
        """Return the locals before the loop."""
        values = self.get_state()
        # A name with a dot or an index (`self.x`) is no local: None there may well be what the body leaves.
        simple = [name.isidentifier() for name in self.names]
        return [
            _locals.pack(name, _locals.NoneOnEntry(name) if value is None and is_simple else value)
            for name, value, is_simple in zip(self.names, values, simple, strict=True)
        ]

    def _trace(
        self, entry: list[_locals.PackedLocal], structures: dict[int, Any], number: int = 0
    ) -> tuple[_carry.Body, list[_locals.PackedLocal]]:
        """Trace the body, again where it gives Python numbers on entry another dtype."""
        # Dtypes are promoted in one direction only (int, float, complex), so a few traces settle them.
        for _ in range(_MAX_TRACES):
            traced = self._trace_once(entry, structures, number)
            promoted = self._promote(entry, traced)
            if promoted is None:
                return traced, entry
            entry = promoted
        names = ", ".join(repr(name) for name in self.names)
        raise errors.TracingError(
            "The dtypes of the locals that a loop assigns change in every iteration. A compiled loop needs one each. "
            f"Expected: a fixed dtype. Received: locals {names}. {_FIX}"
        )

    def _trace_once(
        self, entry: list[_locals.PackedLocal], structures: dict[int, Any], number: int
    ) -> _carry.Body:
        # Negative, so that `_pass` can tell bodies for several structures of elements from parts of the program.
        region = _body.LoopRegion(self.parent, structures, path=(*self.path, -1 - number))
        places = [(local, leaf) for local, packed in enumerate(entry) for leaf in packed.arrays]
        avals = [_abstract(entry[local].leaves[leaf]) for local, leaf in places]
        # Filled by `run` below, while it is traced.
        traced = _carry.Body(None, region, [], {}, {})  # type: ignore[arg-type]

        def run(arguments: list[Any]) -> list[Any]:
            element, *carried = arguments
            traced.tracers.update(zip(places, carried, strict=True))
            before = _unpack(entry, traced.tracers)
            # The body works on the function's own locals, through AutoGraph's `nonlocal`.
            self.set_state(before)
            if self.elements.largest is not None and self.test is None:
                region.counter = element, self.elements.largest
            self.body(self.elements.form(element, [self._take(region, s) for s in self.elements.streams]))
            # The condition of the next iteration is part of this one, as JAX's loops carry it.
            test = [] if self.test is None else [as_predicate(self.test(), "while")]
            values = _locals.read_variables(self.get_state(), before)
            traced.exits[:] = [_locals.pack(name, v) for name, v in zip(self.names, values, strict=True)]
            leaves = [packed.leaves[i] for packed in traced.exits for i in packed.arrays]
            traced.num_arrays = len(leaves)
            # By identity: one array may be the value of several locals.
            traced.arrays.update({id(leaf): position for position, leaf in enumerate(leaves)})
            written = [region.final_value(variable) for variable in region.writes.values()]
            return [*leaves, *written, *test]

        traced.block = _body.trace_block(region, run, [self.elements.aval(), *avals])
        # The locals hold tracers of the body's trace, which is over.
        self.set_state([packed.unpack({}) for packed in entry])
        return traced

    def _take(self, region: _body.LoopRegion, stream: object) -> Any:
        """Take the element of a stream that the loop goes through."""
        structures = region.structures
        if id(stream) not in structures:
            found = self.parent.peek(stream, _body.count_taken_before(self.parent, stream), 1, up_to=True)
            structures[id(stream)] = found[0][0] if found else regions.read_declared_structure(stream)
        return region.feed(stream, structures[id(stream)], count=1, block=False)

    def _promote(
        self, entry: list[_locals.PackedLocal], traced: _carry.Body
    ) -> list[_locals.PackedLocal] | None:
        """Return locals on entry with the dtypes that the body leaves them with, or None where they have them."""
        promoted = [dataclasses.replace(packed, leaves=list(packed.leaves)) for packed in entry]
        changed = False
        for local, (before, after) in enumerate(zip(entry, traced.exits, strict=True)):
            # Without a value on entry there is nothing to promote.
            if _carry.is_unset(before):
                continue
            _check_structure(before, after)
            for position, leaf in enumerate(before.leaves):
                result = after.leaves[position]
                if isinstance(leaf, _growing.Unallocated) and _locals.is_array(result):
                    promoted[local].leaves[position] = _locals.zeros(_locals.describe("", result))
                    changed = True
                    continue
                if not _locals.is_array(leaf):
                    _check_constant(before.paths[position], leaf, result)
                    continue
                # Not assigned by the body: it need not be carried, so any dtype will do.
                if result is traced.tracers[local, position]:
                    continue
                if _is_optional(before.treedef) and leaf.shape != result.shape:
                    raise errors.TracingError(
                        "The elements of an iterator differ in shape, and a `while` loop carries one of them, in an "
                        "Optional, from one iteration to the next. Expected: one shape. Received: "
                        f"{shown(leaf.shape)}, then {shown(result.shape)}. Write `for element in iterator`, "
                        "which takes elements of any shape, or batch with drop_remainder=True."
                    )
                dtype = _find_carried_dtype(before.paths[position], leaf, result)
                if dtype != _locals.describe("", leaf).dtype:
                    promoted[local].leaves[position] = _locals.cast(leaf, dtype)
                    changed = True
        return promoted if changed else None

    def _run(
        self,
        traced: _carry.Body,
        entry: list[_locals.PackedLocal],
        elements: _carry.Elements,
        keep_going: object,
        blocks: list[Any],
    ) -> None:
        """Put the loop into the program and give locals and variables their values after it."""
        carry = _carry.Carry(self.parent, entry, [traced])
        runner = _carry.Runner(carry, elements, blocks, *([self.parent.agree] if carry.meets else []))
        # `scan` wherever the number is known: `while_loop` can't be differentiated in reverse.
        if self.test is not None:
            values = runner.until(keep_going)
        elif isinstance(elements.length, int) or jaxprs.is_size(elements.length):
            values, _ = runner.scan()
        else:
            values = runner.count()
        self.set_state(
            carry.locals_after(values, always_runs=self.test is None and isinstance(elements.length, int))
        )
        self._take_over(carry, values, traced)

    def _take_over(self, carry: _carry.Carry, values: Sequence[Any], traced: _carry.Body) -> None:
        """Give variables their values after the loop."""
        for variable, value in zip(carry.variables, values[len(carry.slots) :], strict=True):
            self.parent.take_over(variable, value, traced.region)


def _abstract(leaf: object) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=_locals.is_weak(leaf))


def _unpack(entry: list[_locals.PackedLocal], tracers: dict[tuple[int, int], Any]) -> list[Any]:
    # The number stands for the structures in all traces of the program.
    return [
        packed.unpack({leaf: tracers[local, leaf] for leaf in packed.arrays})
        for local, packed in enumerate(entry)
    ]


def _is_optional(treedef: jax.tree_util.PyTreeDef) -> bool:
    node = treedef.node_data()
    return node is not None and node[0] is regions.Optional


def _check_structure(before: _locals.PackedLocal, after: _locals.PackedLocal) -> None:
    if before.treedef != after.treedef:
        raise errors.TracingError(
            f"The structure of {_locals.label(before.name)} changes in a compiled loop. Expected: {before.treedef}, as "
            f"before the loop. Received: {after.treedef}. Collect results in an array of fixed size "
            "(`array.at[i].set(value)`), or give the local its final structure before the loop."
        )


def _check_constant(path: str, before: PyTree, after: PyTree) -> None:
    if not _locals.same_constant(before, after):
        raise errors.TracingError(
            f"{path[0].upper()}{path[1:]} is not an array and changes in a compiled loop, which runs one and the same "
            f"body again and again. Expected: {shown(before)}, as before the loop. Received: {shown(after)}. "
            "Use an array or a "
            "number, or a loop over Python's own `range`."
        )


def _find_carried_dtype(path: str, before: PyTree, after: PyTree) -> Any:
    """Return the dtype that a local has throughout the loop."""
    if not _locals.is_array(after):
        raise errors.TracingError(
            f"{path[0].upper()}{path[1:]} is an array before a compiled loop and something else after an iteration. "
            f"Expected: {_locals.describe(path, before)}. Received: {shown(after)}. {_FIX}"
        )
    dtype = _locals.common_dtype(
        path, before, after, "from one iteration of a compiled loop to the next", _FIX
    )
    if not _locals.is_weak(before) and dtype != _locals.describe(path, before).dtype:
        # Unreachable for Python numbers on exit only: they never force another dtype on an array of the same kind.
        _locals.common_dtype(path, _locals.cast(after, dtype), before, "from one iteration to the next", _FIX)
    return dtype


def largest_of(index: object) -> int | None:
    """Return the largest number that a traced index comes to, if it is what a loop around counts in every iteration."""
    region = regions.current_region()
    while isinstance(region, _body.LoopRegion):
        if region.counter is not None and region.counter[0] is index:
            return region.counter[1]
        region = region.parent
    return None


def _can_drive_from(region: regions.Region | None) -> bool:
    """Return whether the host can drive a loop in a region: in the function itself, its loops and its conditions."""
    # Not through `strategy.run` or a gradient: the host can't cut inside a transformation.
    while isinstance(region, (_body.LoopRegion, _body.BranchRegion)):
        region = region.parent
    return isinstance(region, regions.ProgramRegion)
