"""Loops of a graph: run by Python on the host, part of a program where values are traced (saved_models layer)."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax.base.tracing import is_traced
from stratax.core import regions
from stratax.core.functions import repeat
from stratax.errors import BadArgumentError, UnimplementedError
from stratax.tensorflow.saved_models._lists_operations import TensorList
from stratax.tensorflow.saved_models.graph import FileGraph, Output, needs_of
from stratax.tensorflow.saved_models.operations import Value

# As often is a loop followed on the host, to find how many turns it has.
_MOST_COUNTED = 1 << 16
_MOST_TURNS = 1 << 24
_PASSED_ON = ("Identity", "Snapshot", "StopGradient")


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """The condition or the body of a loop.

    Attributes:
        graph: Where it is.
        parameters: The outputs that stand for the loop's variables.
        results: What it gives.
        effects: The nodes that run besides.
        outside: Values from around the loop.
        also: Outputs besides that stand for the loop's variables.
    """

    graph: FileGraph
    parameters: Sequence[Output]
    results: Sequence[Output]
    effects: Sequence[str] = ()
    outside: Mapping[Output, Any] = dataclasses.field(default_factory=dict)
    also: Sequence[Output] = ()

    def run(self, run: Any, values: Sequence[Any], wanted: Iterable[int] | None = None) -> list[Any]:
        """Return what it gives for values of the variables; of some results only if they are named."""
        known = dict(self.outside)
        for places in (self.also, self.parameters):
            known.update(zip(places, values, strict=True) if places else ())
        targets = self.results if wanted is None else [self.results[each] for each in wanted]
        return list(run.evaluate(self.graph, known, targets, self.effects if wanted is None else ()))

    def reads(self, result: Output) -> set[int]:
        """Return the numbers of the variables that a result depends on."""
        places = {name: number for number, (name, _) in enumerate(self.parameters)}
        places |= {name: number for number, (name, _) in enumerate(self.also)}
        stops = {name for name, _ in self.outside}
        found: set[int] = set()
        seen: set[str] = set()
        waiting = [result[0]]
        while waiting:
            name = waiting.pop()
            if name in places:
                found.add(places[name])
            elif name not in seen and name not in stops:
                seen.add(name)
                waiting.extend(needs_of(self.graph, self.graph.node(name)))
        return found

    def is_kept(self, number: int) -> bool:
        """Return whether the result of a number is the variable of that number, as it was."""
        output = self.results[number]
        seen = 0
        while output not in (self.parameters[number], *self.also[number : number + 1]):
            node = self.graph.nodes.get(output[0])
            seen += 1
            if node is None or node.op not in _PASSED_ON or not node.inputs or seen > len(self.graph.nodes):
                return False
            output = node.inputs[0]
        return True


class Loop:
    """A loop of a graph.

    Args:
        name: What errors call it.
        condition: Whether it goes on.
        body: What its variables become.
    """

    def __init__(self, name: str, condition: Part, body: Part) -> None:
        self._name = name
        self._condition = condition
        self._body = body

    def run(self, run: Any, values: list[Any]) -> list[Any]:
        """Return the variables' last values.

        Args:
            run: What goes through the graph.
            values: Their first values.
        """
        for _ in range(_MOST_TURNS):
            if not run.is_host and any(map(_is_traced, values)):
                return self._in_program(run, values)
            (condition,) = self._condition.run(run, values)
            if is_traced(condition):
                return self._in_program(run, values)
            if not np.asarray(condition).all():
                return values
            values = self._body.run(run, values)
        raise BadArgumentError(f"The loop at {self._name} has more than {_MOST_TURNS} turns.")

    def _in_program(self, run: Any, values: list[Any]) -> list[Any]:
        changed = [number for number in range(len(values)) if not self._body.is_kept(number)]
        count = self._count(run, values, changed)
        if count == 0:
            return values
        values = self._settle(run, values, changed)
        flat, pack = flatten([values[number] for number in changed], self._name)
        state = tuple(jnp.asarray(each) for each in flat)

        def fill(state: Sequence[Any]) -> list[Any]:
            made = list(values)
            for number, value in zip(changed, pack(list(state)), strict=True):
                made[number] = value
            return made

        def go_on(state: Sequence[Any]) -> Any:
            (condition,) = self._condition.run(run, fill(state))
            return jnp.reshape(condition, ())

        def step(before: Sequence[Any]) -> tuple[Any, ...]:
            made = self._body.run(run, fill(before))
            after, _ = flatten([made[number] for number in changed], self._name)
            return tuple(jnp.asarray(new, old.dtype) for new, old in zip(after, before, strict=True))

        if count is not None and regions.current_region() is None:
            # With a gradient; in a region `repeat` sees to that.
            last, _ = jax.lax.scan(lambda before, _: (step(before), None), state, length=count)
        else:
            last = repeat(go_on, step, state, count)
        return fill(last)

    def _settle(self, run: Any, values: list[Any], changed: list[int]) -> list[Any]:
        """Return the values with lists whose arrays have a shape, which a look at the body tells."""
        unknown = [
            number
            for number in changed
            if isinstance(values[number], TensorList) and values[number].element_shape() is None
        ]
        if not unknown:
            return values
        shapes: dict[int, Any] = {}

        def look() -> Any:
            made = self._body.run(run, values)
            for number in unknown:
                shapes[number] = made[number].element_shape()
            return ()

        jax.eval_shape(look)
        made = list(values)
        for number in unknown:
            before = values[number]
            made[number] = TensorList(before.items, before.rows, before.dtype, shapes[number])
        return made

    def _count(self, run: Any, values: list[Any], changed: list[int]) -> int | None:
        """Return how many turns the loop has, if numbers decide that are known; None else."""
        needed = self._condition.reads(self._condition.results[0])
        waiting = [number for number in needed if number in changed]
        while waiting:
            more = self._body.reads(self._body.results[waiting.pop()]) - needed
            needed |= more
            waiting.extend(number for number in more if number in changed)
        if any(_is_traced(values[number]) for number in needed):
            return None
        moving = sorted(needed.intersection(changed))
        now = list(values)
        for count in range(_MOST_COUNTED):
            (condition,) = self._condition.run(run, now)
            if is_traced(condition):
                return None
            if not np.asarray(condition).all():
                return count
            for number, value in zip(moving, self._body.run(run, now, moving), strict=True):
                if _is_traced(value):
                    return None
                now[number] = value
        return None


def _is_traced(value: Value) -> bool:
    if isinstance(value, TensorList):
        return is_traced(value.rows) if value.items is None else any(map(is_traced, value.items))
    return is_traced(value)


def flatten(values: Sequence[Any], name: str = "") -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
    """Return values as arrays, and a function that makes such values of other arrays.

    Args:
        values: Arrays, and lists of them.
        name: What errors call the place.

    Raises:
        UnimplementedError: One is neither.
    """
    flat: list[Any] = []
    packs: list[Callable[[Any], Any]] = []
    for value in values:
        if isinstance(value, TensorList):
            flat.append(value.stack())
            packs.append(functools.partial(_list_of, value.dtype, value.shape))
        elif isinstance(value, jax.Array | np.ndarray | np.generic | bool | int | float):
            flat.append(value)
            packs.append(lambda array: array)
        else:
            raise UnimplementedError(
                f"A condition or loop of the file{f', {name},' if name else ''} changes what is no array: "
                f"{type(value).__name__}."
            )
    return [jnp.asarray(each) for each in flat], lambda arrays: [
        pack(array) for pack, array in zip(packs, arrays, strict=True)
    ]


def _list_of(dtype: Any, shape: Any, rows: Value) -> TensorList:
    return TensorList(None, rows, dtype, shape)
