"""What a compiled loop carries from one iteration to the next, and JAX' loops around it (core layer)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras

from stratax import errors
from stratax.core import _body, _capture, _conditions, _locals

_STATE = (keras.Variable, _capture.Spread)


@dataclasses.dataclass(frozen=True, slots=True)
class Elements:
    """What a loop goes through.

    Attributes:
        length: The number of iterations: an int, a traced int32, or None where only the condition ends the loop.
        at: The element at a traced index.
        bound: What gives the length, where it is one object unchanged.
    """

    length: Any
    at: Callable[[Any], Any] | None = None
    bound: Any = None

    def aval(self) -> Any:
        """The type of an element."""
        if self.at is None:
            return jax.ShapeDtypeStruct((), jnp.int32)
        element = jax.eval_shape(self.at, jax.ShapeDtypeStruct((), jnp.int32))
        return jax.ShapeDtypeStruct(element.shape, element.dtype)

    def part(self, offset: int, length: int) -> "Elements":
        """`length` elements from `offset` on."""
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

    block: _body.Block
    region: _body.LoopRegion
    exits: list[_locals.Packed]
    arrays: dict[int, int]
    tracers: dict[tuple[int, int], Any]
    num_arrays: int = 0


def is_unset(packed: _locals.Packed) -> bool:
    return len(packed.leaves) == 1 and _locals.is_unset(packed.leaves[0])


class Carry:
    """What a loop carries: the locals that change, then the variables that are written.

    Attributes:
        slots: The locals' arrays: their type, and the position of the result that gives them.
        variables: The variables that the body writes.
        initial: All values before the first iteration.
    """

    def __init__(self, parent: _capture.Region, entry: list[_locals.Packed], traced: Body) -> None:
        self.slots: list[tuple[_locals.Leaf, int]] = []
        self.initial: list[Any] = []
        self._entry = entry
        self._traced = traced
        self._arguments: list[int | Any] = []
        self._positions: list[dict[int, int]] = [{} for _ in entry]
        self._collect_locals()
        self._collect_new_locals()
        self.variables = list(traced.region.writes.values())
        self.initial += [parent.get_current_value(variable) for variable in self.variables]
        self._slot_of = {id(variable): len(self.slots) + i for i, variable in enumerate(self.variables)}
        self._read = {
            id(source): parent.get_current_value(source)
            for source in traced.region.inputs
            if isinstance(source, _STATE) and id(source) not in self._slot_of
        }

    def _collect_locals(self) -> None:
        for local, packed in enumerate(self._entry):
            after = self._traced.exits[local]
            for leaf in packed.arrays:
                value = packed.leaves[leaf]
                if after.leaves[leaf] is self._traced.tracers[local, leaf]:
                    # The body leaves it alone: after the loop it is what it was, a Python number too.
                    self._arguments.append(value)
                    continue
                kind = _locals.describe(packed.paths[leaf], value)
                self._arguments.append(_Slot(len(self.slots)))
                self._positions[local][leaf] = self._add(
                    kind, after.leaves[leaf], _locals.cast(value, kind.dtype)
                )

    def _collect_new_locals(self) -> None:
        for local, packed in enumerate(self._entry):
            after = self._traced.exits[local]
            if not is_unset(packed):
                continue
            before = packed.leaves[0]
            if isinstance(before, _locals.NoneOnEntry) and before.was_read and not _is_none(after, before):
                raise errors.TracingError(
                    f"{_locals.label(packed.name)} is None before a compiled loop, whose body looks at it and then "
                    "assigns it: the first iteration would be another program than the rest. Expected: an array or "
                    "number before the loop. Received: None. Give it a value of its final shape and dtype, for example "
                    "`keras.ops.zeros(shape, dtype)`."
                )
            for leaf in after.arrays:
                kind = _locals.describe(after.paths[leaf], after.leaves[leaf])
                self._positions[local][leaf] = self._add(kind, after.leaves[leaf], _locals.zeros(kind))

    def _add(self, kind: _locals.Leaf, result: Any, initial: Any) -> int:
        self.slots.append((kind, self._traced.arrays[id(result)]))
        self.initial.append(initial)
        return len(self.slots) - 1

    def step(self, element: Any, values: Sequence[Any], blocks: Sequence[Any]) -> tuple[list[Any], Any]:
        """One iteration: the carried values after it, and the condition, where the loop has one."""
        taken = iter(blocks)
        inputs = []
        for source in self._traced.region.inputs:
            if not isinstance(source, _STATE):
                inputs.append(next(taken))
            elif id(source) in self._slot_of:
                inputs.append(values[self._slot_of[id(source)]])
            else:
                inputs.append(self._read[id(source)])
        arguments = [values[a.position] if isinstance(a, _Slot) else a for a in self._arguments]
        results = self._traced.block.run(inputs, [element, *arguments])
        first = self._traced.num_arrays
        written = results[first : first + len(self.variables)]
        new = [_locals.cast(results[position], kind.dtype) for kind, position in self.slots]
        start = self.initial[len(self.slots) :]
        return new + [_locals.cast(v, i.dtype) for v, i in zip(written, start, strict=True)], results[
            -1
        ] if results else None

    def locals_after(self, values: Sequence[Any], *, always_runs: bool) -> list[Any]:
        """The locals after the loop."""
        state = []
        for local, packed in enumerate(self._entry):
            positions = self._positions[local]
            new = {leaf: values[slot] for leaf, slot in positions.items()}
            if not is_unset(packed):
                state.append(packed.unpack(new))
                continue
            state.append(self._new_local(packed, self._traced.exits[local], new, always_runs))
        return state

    def _new_local(
        self, before: _locals.Packed, after: _locals.Packed, new: dict[int, Any], always_runs: bool
    ) -> Any:
        unset = before.leaves[0]
        if isinstance(unset, _locals.NoneOnEntry) and _is_none(after, unset):
            return None
        value = after.unpack(new)
        is_result = isinstance(unset, _locals.UndefinedReturnValue)
        if is_result and not always_runs and not _locals.is_unset(value):
            return value if isinstance(value, _locals.PartialReturn) else _locals.PartialReturn(value)
        return value


def _is_none(after: _locals.Packed, before: _locals.NoneOnEntry) -> bool:
    """Whether a local that was None still is."""
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
    """

    def __init__(self, carry: Carry, elements: Elements, blocks: list[Any]) -> None:
        self._carry = carry
        self._elements = elements
        self._blocks = blocks

    def scan(self) -> list[Any]:
        """A known number of iterations."""

        def body(values: list[Any], xs: tuple[Any, list[Any]]) -> tuple[list[Any], None]:
            index, blocks = xs
            return self._carry.step(self._element(index), values, blocks)[0], None

        count = self._elements.length
        xs = (jnp.arange(count, dtype=jnp.int32), self._blocks)
        return jax.lax.scan(body, self._carry.initial, xs, length=count)[0]

    def count(self) -> list[Any]:
        """A number of iterations that is known when the program runs."""

        def body(index: Any, values: list[Any]) -> list[Any]:
            return self._carry.step(self._element(index), values, self._rows(index))[0]

        return jax.lax.fori_loop(0, self._elements.length, body, self._carry.initial)

    def until(self, keep_going: Any) -> list[Any]:
        """Iterations as long as a condition holds and elements are left."""
        length = self._elements.length

        def test(state: tuple[Any, Any, list[Any]]) -> Any:
            index, go_on, _ = state
            return go_on if length is None else jnp.logical_and(go_on, index < length)

        def body(state: tuple[Any, Any, list[Any]]) -> tuple[Any, Any, list[Any]]:
            index, _, values = state
            values, go_on = self._carry.step(self._element(index), values, ())
            return index + 1, go_on, values

        first = (jnp.zeros((), jnp.int32), _conditions.as_predicate(keep_going, "while"), self._carry.initial)
        return jax.lax.while_loop(test, body, first)[2]

    def _element(self, index: Any) -> Any:
        return index if self._elements.at is None else self._elements.at(index)

    def _rows(self, index: Any) -> list[Any]:
        return [jax.lax.dynamic_index_in_dim(block, index, 0, keepdims=False) for block in self._blocks]
