"""Loops of compiled functions: `for _ in stratax.range(n)`, rows of arrays, `while` on arrays (core layer).

The body is traced once. What it assigns (locals, variables) is carried from one iteration to the next, what it only
reads is closed over, and what it takes from streams comes in as one block for the whole loop. A loop of a known number
of iterations is a `jax.lax.scan`, one of a traced number a `jax.lax.fori_loop`, and one that can end early (`while`,
`break`, `return`) a `jax.lax.while_loop`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras

from stratax import errors
from stratax.core import _body, _capture, _carry, _conditions, _feeding, _locals, _range, _stream

_MAX_TRACES = 3
"""How often a body is traced at most until the dtypes of Python numbers on entry are known."""
_FIX = (
    "Give it its final shape and dtype before the loop (`keras.ops.zeros(shape, dtype)`), or cast what the loop "
    "assigns with `keras.ops.cast`."
)


def for_stmt(
    iterated: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """`for ... in iterated: body`, compiled over :func:`stratax.range` and the rows of arrays, else Python's.

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
    parent = _capture.current_region()
    elements = None if parent is None else _elements(iterated)
    if elements is None:
        _python_for(iterated, extra_test, body)
        return
    keep_going = extra_test() if extra_test is not None else True
    if (isinstance(elements.length, int) and elements.length == 0) or keep_going is False:
        return
    _Loop(parent, elements, body, extra_test, get_state, set_state, names).compile(keep_going)


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[Sequence[Any]], None],
    names: Sequence[str],
    options: dict[str, Any],
) -> None:
    """`while test: body`: compiled from the first time that the condition is an array, until then Python's."""
    parent = _capture.current_region()
    while True:
        keep_going = test()
        if parent is not None and _conditions.is_traced(keep_going):
            break
        if not keep_going:
            return
        body()
    loop = _Loop(parent, _carry.Elements(None), lambda _: body(), test, get_state, set_state, names)
    loop.compile(keep_going)


def _python_for(iterated: Any, extra_test: Callable[[], Any] | None, body: Callable[[Any], None]) -> None:
    if _capture.current_region() is not None and isinstance(iterated, _stream.Stream):
        raise errors.TracingError(
            "A compiled function goes through an iterator to its end, which it can't know. Expected: `for _ in "
            "stratax.range(n): element = next(iterator)`, or the loop over the iterator around the compiled function. "
            f"Received: iterator={iterated!r}."
        )
    if extra_test is not None and not _go_on(extra_test()):
        return
    for element in iterated:
        body(element)
        if extra_test is not None and not _go_on(extra_test()):
            return


def _go_on(test: Any) -> bool:
    if _conditions.is_traced(test):
        raise errors.TracingError(
            "`break` or `return` in a Python loop of a compiled function depends on an array: Python can't know while "
            "tracing when to stop. Expected: a loop over `stratax.range(n)` or over an array, which are compiled. "
            f"Received: a condition of type {_locals.describe('', test)}."
        )
    return bool(test)


def _elements(iterated: Any) -> _carry.Elements | None:
    """How a compiled loop goes through `iterated`, or None where Python does."""
    if isinstance(iterated, _range.Range):
        counts_up = isinstance(iterated.start, int) and iterated.start == 0 and iterated.delta == 1
        return _carry.Elements(iterated.length, iterated.element, iterated.stop if counts_up else None)
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


class _Loop:
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
        self.parent: _capture.Region = parent
        self.elements = elements
        self.body = body
        self.test = test
        self.get_state = get_state
        self.set_state = set_state
        self.names = names

    def compile(self, keep_going: Any) -> None:
        """Traces the loop and puts it into the program around it."""
        entry = self._entry()
        traced, entry = self._trace(entry, {})
        if not traced.region.taken_elements:
            self._run(traced, entry, self.elements, keep_going, [])
            return
        if self.test is not None:
            raise errors.TracingError(
                "next(iterator) was called in a loop that can end early (`while`, `break` or `return` on an array): "
                "how many elements it takes is not known before it runs. Expected: a loop over `stratax.range(n)` "
                "without. Skip the work instead, with `if`, or take the elements outside."
            )
        segments = _feeding.plan(self.parent, traced.region, self.elements.length, self.elements.bound)
        offset = 0
        for number, segment in enumerate(segments):
            if number:
                traced, entry = self._trace(self._entry(), segment.structures)
            elements = self.elements if len(segments) == 1 else self.elements.part(offset, segment.count)
            blocks = segment.feed(self.parent, traced.region)
            if segment.count:
                self._run(traced, entry, elements, True, blocks)
            offset += segment.count

    def _entry(self) -> list[_locals.Packed]:
        """The locals before the loop."""
        values = self.get_state()
        simple = [name.isidentifier() for name in self.names]
        return [
            _locals.pack(name, _locals.NoneOnEntry(name) if value is None and is_simple else value)
            for name, value, is_simple in zip(self.names, values, simple, strict=True)
        ]

    def _trace(
        self, entry: list[_locals.Packed], structures: dict[int, Any]
    ) -> tuple[_carry.Body, list[_locals.Packed]]:
        """Traces the body, again where it gives Python numbers on entry another dtype."""
        for _ in range(_MAX_TRACES):
            traced = self._trace_once(entry, structures)
            promoted = self._promoted(entry, traced)
            if promoted is None:
                return traced, entry
            entry = promoted
        names = ", ".join(repr(name) for name in self.names)
        raise errors.TracingError(
            "The dtypes of the locals that a loop assigns change in every iteration. A compiled loop needs one each. "
            f"Expected: a fixed dtype. Received: locals {names}. {_FIX}"
        )

    def _trace_once(self, entry: list[_locals.Packed], structures: dict[int, Any]) -> _carry.Body:
        region = _body.LoopRegion(self.parent, structures)
        places = [(local, leaf) for local, packed in enumerate(entry) for leaf in packed.arrays]
        avals = [_abstract(entry[local].leaves[leaf]) for local, leaf in places]
        traced = _carry.Body(None, region, [], {}, {})  # type: ignore[arg-type]

        def run(arguments: list[Any]) -> list[Any]:
            element, *carried = arguments
            traced.tracers.update(zip(places, carried, strict=True))
            before = _unpack(entry, traced.tracers)
            self.set_state(before)
            self.body(element)
            test = [] if self.test is None else [_conditions.as_predicate(self.test(), "while")]
            values = _locals.read_variables(self.get_state(), before)
            traced.exits[:] = [_locals.pack(name, v) for name, v in zip(self.names, values, strict=True)]
            leaves = [packed.leaves[i] for packed in traced.exits for i in packed.arrays]
            traced.num_arrays = len(leaves)
            traced.arrays.update({id(leaf): position for position, leaf in enumerate(leaves)})
            written = [region.final_value(variable) for variable in region.writes.values()]
            return [*leaves, *written, *test]

        traced.block = _body.trace_block(region, run, [self.elements.aval(), *avals])
        self.set_state([packed.unpack({}) for packed in entry])
        return traced

    def _promoted(self, entry: list[_locals.Packed], traced: _carry.Body) -> list[_locals.Packed] | None:
        """Locals on entry with the dtypes that the body leaves them with, or None where they have them already."""
        promoted = [dataclasses.replace(packed, leaves=list(packed.leaves)) for packed in entry]
        changed = False
        for local, (before, after) in enumerate(zip(entry, traced.exits, strict=True)):
            if _carry.is_unset(before):
                continue
            _check_structure(before, after)
            for position, leaf in enumerate(before.leaves):
                result = after.leaves[position]
                if not _locals.is_array(leaf):
                    _check_constant(before.paths[position], leaf, result)
                    continue
                if result is traced.tracers[local, position]:
                    continue
                dtype = _carried_dtype(before.paths[position], leaf, result)
                if dtype != _locals.describe("", leaf).dtype:
                    promoted[local].leaves[position] = _locals.cast(leaf, dtype)
                    changed = True
        return promoted if changed else None

    def _run(
        self,
        traced: _carry.Body,
        entry: list[_locals.Packed],
        elements: _carry.Elements,
        keep_going: Any,
        blocks: list[Any],
    ) -> None:
        """Puts the loop into the program and gives locals and variables their values after it."""
        carry = _carry.Carry(self.parent, entry, traced)
        runner = _carry.Runner(carry, elements, blocks)
        if self.test is not None:
            values = runner.until(keep_going)
        elif isinstance(elements.length, int):
            values = runner.scan()
        else:
            values = runner.count()
        self.set_state(
            carry.locals_after(values, always_runs=self.test is None and isinstance(elements.length, int))
        )
        for variable, value in zip(carry.variables, values[len(carry.slots) :], strict=True):
            self.parent.take_over(variable, value, traced.region)


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=_locals.is_weak(leaf))


def _unpack(entry: list[_locals.Packed], tracers: dict[tuple[int, int], Any]) -> list[Any]:
    return [
        packed.unpack({leaf: tracers[local, leaf] for leaf in packed.arrays})
        for local, packed in enumerate(entry)
    ]


def _check_structure(before: _locals.Packed, after: _locals.Packed) -> None:
    if before.treedef != after.treedef:
        raise errors.TracingError(
            f"The structure of {_locals.label(before.name)} changes in a compiled loop. Expected: {before.treedef}, as "
            f"before the loop. Received: {after.treedef}. Collect results in an array of fixed size "
            "(`array.at[i].set(value)`), or give the local its final structure before the loop."
        )


def _check_constant(path: str, before: Any, after: Any) -> None:
    if not _locals.same_constant(before, after):
        raise errors.TracingError(
            f"{path[0].upper()}{path[1:]} is not an array and changes in a compiled loop, which runs one and the same "
            f"body again and again. Expected: {before!r}, as before the loop. Received: {after!r}. Use an array or a "
            "number, or a loop over Python's own `range`."
        )


def _carried_dtype(path: str, before: Any, after: Any) -> Any:
    """The dtype that a local has throughout the loop."""
    if not _locals.is_array(after):
        raise errors.TracingError(
            f"{path[0].upper()}{path[1:]} is an array before a compiled loop and something else after an iteration. "
            f"Expected: {_locals.describe(path, before)}. Received: {after!r}. {_FIX}"
        )
    dtype = _locals.common_dtype(
        path, before, after, "from one iteration of a compiled loop to the next", _FIX
    )
    if not _locals.is_weak(before) and dtype != _locals.describe(path, before).dtype:
        # Unreachable for Python numbers on exit only: they never force another dtype on an array of the same kind.
        _locals.common_dtype(path, _locals.cast(after, dtype), before, "from one iteration to the next", _FIX)
    return dtype
