"""What a compiled loop carries from one iteration to the next, and JAX' loops around it (core layer)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.base.typing import PyTree, TensorLike
from stratax.core import regions
from stratax.core.control import _body, _locals
from stratax.core.control._locals import as_predicate

_STATE = (keras.Variable, regions.Spread)


def _element_itself(element: PyTree, _: Sequence[Any]) -> Any:
    return element


@dataclasses.dataclass(frozen=True, slots=True)
class Elements:
    """What a loop goes through.

    Attributes:
        length: The number of iterations: an int, a traced int32, or None where only the condition ends the loop.
        at: The element at a traced index.
        bound: What gives the length, where it is one object unchanged.
        streams: The streams and passes over datasets that the loop goes through.
        form: What the body is given, of the element at the index and an element of each stream.
        largest: The largest element, where they are whole numbers that are known.
    """

    length: Any
    at: Callable[[Any], Any] | None = None
    bound: Any = None
    streams: tuple[Any, ...] = ()
    form: Callable[[Any, Sequence[Any]], Any] = _element_itself
    largest: int | None = None

    def aval(self) -> Any:
        """Return the type of an element."""
        if self.at is None:
            return jax.ShapeDtypeStruct((), jnp.int32)
        element = jax.eval_shape(self.at, jax.ShapeDtypeStruct((), jnp.int32))
        return jax.ShapeDtypeStruct(element.shape, element.dtype)

    def part(self, offset: int, length: int) -> "Elements":
        """Return `length` elements from `offset` on."""
        at = self.at
        return Elements(length, None if at is None else lambda index: at(index + offset))


@dataclasses.dataclass(slots=True)
class Body:
    """A traced body.

    Attributes:
        block: The block `(inputs, element and carried arrays) -> carried arrays, variables, condition`.
        exits: The locals as the body leaves them.
        arrays: Where their arrays are among the results, by id.
        tracers: The carried arrays on entry, by position of local and leaf.
        num_arrays: How many results come before the variables.
    """

    block: _body.TracedBlock
    region: _body.LoopRegion
    exits: list[_locals.PackedLocal]
    arrays: dict[int, int]
    tracers: dict[tuple[int, int], Any]
    num_arrays: int = 0


def is_unset(packed: _locals.PackedLocal) -> bool:
    return len(packed.leaves) == 1 and _locals.is_unset(packed.leaves[0])


class Carry:
    """What a loop carries: the locals that change, then the variables that are written.

    Args:
        parent: The region that the loop stands in.
        entry: The locals before the loop.
        bodies: The body, traced once for each structure of the elements that the loop takes from streams.

    Attributes:
        slots: The locals' arrays: their type, and the positions of the results that give them, one for each body.
        variables: The variables that a body writes.
        meets: Whether parties meet in the body, which all of them have to run as often.
        initial: All values before the first iteration.
    """

    def __init__(
        self, parent: regions.Region, entry: list[_locals.PackedLocal], bodies: Sequence[Body]
    ) -> None:
        self.slots: list[tuple[_locals.Leaf, list[int]]] = []
        self.initial: list[Any] = []
        self._entry = entry
        self._bodies = bodies
        self._arguments: list[int | Any] = []
        self._positions: list[dict[int, int]] = [{} for _ in entry]
        self._collect_locals()
        self._collect_new_locals()
        # The first body that writes a variable says whether it is carried as replicas hold it.
        written: dict[int, Any] = {}
        for body in bodies:
            for variable in body.region.writes.values():
                # By the variable itself, whichever form a body writes it in.
                written.setdefault(id(regions.variable_of(variable)), variable)
        # A body that looks at what is carried as a party's share begins with a collective.
        shared = {key for key, each in written.items() if isinstance(each, regions.Spread) and each.is_share}
        self.meets = any(id(source) in shared for body in bodies for source in body.region.inputs)
        if self.meets:
            parent.note_meeting()
        self.meets |= any(body.region.meets for body in bodies)
        self.variables = list(written.values())
        # Without them XLA gathers what is divided among devices in front of the loop, and carries it whole.
        self._shardings = [parent.find_sharding(variable) for variable in self.variables]
        first = [parent.get_current_value(variable) for variable in self.variables]
        self.initial += map(_divided, first, self._shardings)
        self._slot_of = {key: len(self.slots) + i for i, key in enumerate(written)}
        # Read and not written: the same in all iterations, so it is closed over instead of carried.
        self._read = {
            id(source): parent.get_current_value(source)
            for body in bodies
            for source in body.region.inputs
            if isinstance(source, _STATE) and id(regions.variable_of(source)) not in self._slot_of
        }

    def _collect_locals(self) -> None:
        for local, packed in enumerate(self._entry):
            for leaf in packed.arrays:
                value = packed.leaves[leaf]
                results = [body.exits[local].leaves[leaf] for body in self._bodies]
                before = [body.tracers[local, leaf] for body in self._bodies]
                if all(result is tracer for result, tracer in zip(results, before, strict=True)):
                    # The body leaves it alone: after the loop it is what it was, a Python number too.
                    self._arguments.append(value)
                    continue
                # The type on entry: promotion has settled that the body leaves it with this one, too.
                kind = _locals.describe(packed.paths[leaf], value)
                self._arguments.append(_Slot(len(self.slots)))
                self._positions[local][leaf] = self._add(kind, results, _locals.cast(value, kind.dtype))

    def _collect_new_locals(self) -> None:
        for local, packed in enumerate(self._entry):
            if not is_unset(packed):
                continue
            # There is no value to begin with; zeros of the type that the body gives stand for it.
            exits = [body.exits[local] for body in self._bodies]
            for after in exits:
                _check_none(packed.leaves[0], packed.name, after)
            for leaf in exits[0].arrays:
                kind = _locals.describe(exits[0].paths[leaf], exits[0].leaves[leaf])
                _check_alike(packed.name, kind, leaf, exits)
                results = [after.leaves[leaf] for after in exits]
                self._positions[local][leaf] = self._add(kind, results, _locals.zeros(kind))

    def _add(self, kind: _locals.Leaf, results: list[Any], initial: object) -> int:
        places = [body.arrays[id(result)] for body, result in zip(self._bodies, results, strict=True)]
        self.slots.append((kind, places))
        self.initial.append(initial)
        return len(self.slots) - 1

    def step(
        self, element: PyTree, values: Sequence[Any], blocks: Sequence[Any], number: int = 0
    ) -> tuple[list[Any], list[Any]]:
        """Run one iteration of a body.

        Returns:
            The carried values after it, and all that the body gives; the last of it is the loop's condition, where it
            has one.
        """
        traced = self._bodies[number]
        taken = iter(blocks)
        inputs = []
        for source in traced.region.inputs:
            if not isinstance(source, _STATE):
                inputs.append(next(taken))
            elif (slot := self._slot_of.get(id(regions.variable_of(source)))) is not None:
                inputs.append(
                    regions.convert_form(values[slot], self.variables[slot - len(self.slots)], source)
                )
            else:
                inputs.append(self._read[id(source)])
        arguments = [values[a.position] if isinstance(a, _Slot) else a for a in self._arguments]
        results = traced.block.run(inputs, [element, *arguments])
        new = [_locals.cast(results[places[number]], kind.dtype) for kind, places in self.slots]
        written = {
            id(regions.variable_of(source)): (source, result)
            for source, result in zip(
                # Not strict: the loop's condition may follow the variables.
                traced.region.writes.values(),
                results[traced.num_arrays :],
                strict=False,
            )
        }
        for variable, value, start, sharding in zip(
            self.variables,
            values[len(self.slots) :],
            self.initial[len(self.slots) :],
            self._shardings,
            strict=True,
        ):
            source, result = written.get(id(regions.variable_of(variable)), (variable, value))
            one = _locals.cast(regions.convert_form(result, source, variable), start.dtype)
            new.append(_divided(one, sharding))
        return new, results

    def locals_after(self, values: Sequence[Any], *, always_runs: bool) -> list[Any]:
        """Return the locals after the loop."""
        state = []
        for local, packed in enumerate(self._entry):
            positions = self._positions[local]
            new = {leaf: values[slot] for leaf, slot in positions.items()}
            if not is_unset(packed):
                state.append(packed.unpack(new))
                continue
            state.append(self._new_local(packed, self._bodies[0].exits[local], new, always_runs=always_runs))
        return state

    def _new_local(
        self,
        before: _locals.PackedLocal,
        after: _locals.PackedLocal,
        new: dict[int, Any],
        *,
        always_runs: bool,
    ) -> Any:
        unset = before.leaves[0]
        if isinstance(unset, _locals.NoneOnEntry) and _is_none(after, unset):
            return None
        value = after.unpack(new)
        is_result = isinstance(unset, _locals.UndefinedReturnValue)
        if is_result and not always_runs and not _locals.is_unset(value):
            return value if isinstance(value, _locals.PartialReturn) else _locals.PartialReturn(value)
        return value


def _divided(value: TensorLike, sharding: jax.sharding.Sharding | None) -> Any:
    return value if sharding is None else jax.lax.with_sharding_constraint(value, sharding)


def _check_none(before: PyTree, name: str, after: _locals.PackedLocal) -> None:
    if isinstance(before, _locals.NoneOnEntry) and before.was_read and not _is_none(after, before):
        raise errors.TracingError(
            f"{_locals.label(name)} is None before a compiled loop, whose body looks at it and then "
            "assigns it: the first iteration would be another program than the rest. Expected: an array or "
            "number before the loop. Received: None. Give it a value of its final shape and dtype, for example "
            "`keras.ops.zeros(shape, dtype)`."
        )


def _check_alike(name: str, kind: _locals.Leaf, leaf: int, exits: list[_locals.PackedLocal]) -> None:
    """Refuse a local that is first assigned in the body and depends on the shape of what the loop takes."""
    for after in exits[1:]:
        same = after.treedef == exits[0].treedef and leaf in after.arrays
        found = _locals.describe("", after.leaves[leaf]) if same else None
        if found is None or (found.shape, found.dtype) != (kind.shape, kind.dtype):
            raise errors.TracingError(
                f"{_locals.label(name)} is used after a loop over elements of several shapes and differs with them. A "
                f"compiled program needs one of each. Expected: {kind}, as with the first element. Received: "
                f"{after.treedef if found is None else found}. Reduce it to one shape in the loop, or make the "
                "elements' shapes equal (`batch(..., drop_remainder=True)`, padding)."
            )


def _is_none(after: _locals.PackedLocal, before: _locals.NoneOnEntry) -> bool:
    """Return whether a local that was None still is."""
    return not after.leaves or (len(after.leaves) == 1 and after.leaves[0] is before)


@dataclasses.dataclass(frozen=True, slots=True)
class _Slot:
    """The position of a carried value."""

    position: int


class Runner:
    """Runs a body as one of JAX' loops.

    Args:
        carry: What is carried, and the body.
        elements: What the loop goes through.
        blocks: What it takes from streams, one array per input of the body, stacked over the iterations.
        agree: Returns a number of iterations or a condition as all parties have it.
    """

    def __init__(
        self,
        carry: Carry,
        elements: Elements,
        blocks: list[Any],
        agree: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self._carry = carry
        self._elements = elements
        self._blocks = blocks
        self._agree = agree

    def scan(self, kept: Sequence[int] = ()) -> tuple[list[Any], list[Any]]:
        """Run a known number of iterations.

        Args:
            kept: The positions among the body's results of those that are wanted of every iteration.

        Returns:
            The carried values after the last iteration, and what is kept, stacked over the iterations.
        """

        def body(values: list[Any], xs: tuple[Any, list[Any]]) -> tuple[list[Any], list[Any]]:
            # `scan` slices the blocks itself; nothing is gathered by index.
            index, blocks = xs
            new, results = self._carry.step(self._element(index), values, blocks)
            return new, [results[position] for position in kept]

        count = self._elements.length
        # int32 as in all kinds of loops: the body is traced for one type of index.
        # They tell how many there are, also where the number is a symbol.
        xs = (jnp.arange(count, dtype=jnp.int32), self._blocks)
        values, rows = jax.lax.scan(body, self._carry.initial, xs)
        return values, rows

    def count(self) -> list[Any]:
        """Return a number of iterations that is known when the program runs."""

        def body(index: object, values: list[Any]) -> list[Any]:
            return self._carry.step(self._element(index), values, self._rows(index))[0]

        return jax.lax.fori_loop(0, self._agree(self._elements.length), body, self._carry.initial)

    def until(self, keep_going: object) -> list[Any]:
        """Run iterations as long as a condition holds and elements are left."""
        length = self._elements.length
        if length is not None and not isinstance(length, int):
            length = self._agree(length)

        def test(state: tuple[Any, Any, list[Any]]) -> Any:
            index, go_on, _ = state
            return go_on if length is None else jnp.logical_and(go_on, index < length)

        def body(state: tuple[Any, Any, list[Any]]) -> tuple[Any, Any, list[Any]]:
            index, _, values = state
            new, results = self._carry.step(self._element(index), values, ())
            # The body has computed the condition last; see `TracedLoop._trace_once`.
            return index + 1, self._agree(results[-1]), new

        keep_going = self._agree(as_predicate(keep_going, "while"))
        first = (jnp.zeros((), jnp.int32), keep_going, self._carry.initial)
        return jax.lax.while_loop(test, body, first)[2]

    def _element(self, index: object) -> Any:
        return index if self._elements.at is None else self._elements.at(index)

    def _rows(self, index: object) -> list[Any]:
        return [jax.lax.dynamic_index_in_dim(block, index, 0, keepdims=False) for block in self._blocks]
