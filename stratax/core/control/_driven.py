"""Loops that the host drives, as the trace leaves them: what they carry, take and compute (core layer).

A compiled program can't pull from the host. A loop that takes more from streams than one window holds, or an amount
that is known only when it has run, becomes an equation of its own in the traced program. Where it stands the program is
cut: the host takes a window of elements, dispatches the iterations that use them, and so on (`_driver`).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax.extend import core as jax_core

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree, TensorLike
from stratax.core import jaxprs
from stratax.core.control import _body
from stratax.core.regions import Pass, Path, ProgramRegion, Region

if TYPE_CHECKING:
    from stratax.core.control import _carry
    from stratax.core.known import Watch

# At most how many iterations are dispatched at once. What is on its way can't be taken back by Ctrl-C.
WINDOW_STEPS = 64
# At most how much input they take, unless one iteration takes more.
WINDOW_BYTES = 64 << 20
# At most how many iterations of a loop that may end early: the host waits for each window's outcome.
WATCHED_STEPS = 16


@dataclasses.dataclass(slots=True)
class LoopTake:
    """A stream that a loop takes elements of.

    Attributes:
        stream: The stream, or what stands for one that was an argument; or a pass over a dataset.
        is_own: Whether the loop goes through it, so that it ends with it.
        is_optional: Whether the loop looks whether there is an element.
    """

    stream: Any
    is_own: bool
    is_optional: bool


@dataclasses.dataclass(frozen=True, slots=True)
class TakenArray:
    """One array that an iteration takes: leaf `leaf` of elements `start` to `start + count` of those of a stream.

    Of an optional element, leaf -1 says whether it is there.
    """

    take: int
    leaf: int
    start: int
    count: int
    is_block: bool


@dataclasses.dataclass(slots=True, eq=False)
class DrivenStep:
    """One iteration, for elements of one structure.

    Attributes:
        jaxpr: A function `(carried, index, rows, constants) -> (carried, whether to go on, if the loop has a test)`.
        structures: The structure of an element of each stream.
        counts: How many elements of each stream an iteration takes.
        rows: What the rows are.
        constants: Where the constants are among the loop's, or, of a step that was traced later, in the program.
        is_driven: Whether a loop in it has to be driven, too.
        capacities: How many rows the windows have that were compiled.
        watches: What rows must not hold; None until it is asked for.
    """

    jaxpr: jax_core.ClosedJaxpr
    structures: list[Any]
    counts: list[int]
    rows: list[TakenArray]
    constants: list[Any]
    is_driven: bool
    capacities: list[int] = dataclasses.field(default_factory=list)
    watches: "list[Watch] | None" = None

    @property
    def window(self) -> int:
        """How many iterations a window holds."""
        return window_of(self.structures, self.counts)


class DrivenLoop:
    """A loop that the host drives.

    Attributes:
        path: Where it stands.
        results: The types of what it carries.
        variables: The variables among that, by position.
        takes: What it takes.
        length: The number of iterations: an int, None for as long as there are elements, or "operand".
        length_at: The position of the operand that is the length.
        test: The position of the operand that says whether to begin, where the loop may end early.
        constants: Where constants begin among the operands.
        before: Variables that were written before the loop, and the positions of their values among the operands.
        steps: The iterations, one for each structure of elements.
    """

    def __init__(
        self,
        *,
        path: Path,
        results: list[Any],
        variables: dict[int, Any],
        takes: list[LoopTake],
        length: int | str | None,
        test: int | None,
        steps: list[DrivenStep],
    ) -> None:
        self.path = path
        self.results = results
        self.variables = variables
        self.takes = takes
        self.length = length
        self.test = test
        self.steps = steps
        self.length_at: int | None = None
        self.constants = 0
        self.before: list[tuple[Any, int]] = []

    def replace_streams(self, places: dict[int, Any]) -> None:
        """Put something else in the place of streams that were arguments."""
        for take in self.takes:
            take.stream = places.get(id(take.stream), take.stream)


def window_of(structures: Sequence[Any], counts: Sequence[int]) -> int:
    """Return how many iterations a window holds that take so many elements of these structures."""
    size = 0
    for structure, count in zip(structures, counts, strict=True):
        leaves = jax.tree.leaves(structure)
        size += count * sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)
    # One iteration at least: there is no smaller window.
    return max(1, min(WINDOW_STEPS, WINDOW_BYTES // max(1, size)))


def same_structure(left: TensorLike, right: TensorLike) -> bool:
    """Return whether elements of two structures can be taken for one another."""
    # The usual case: a stream describes its elements by one object while they don't change.
    if left is right:
        return True
    if not bool(jax.tree.structure(left) == jax.tree.structure(right)):  # type: ignore[operator]
        return False
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)


def same_structures(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether elements of several streams have structures that can be taken for one another."""
    return all(map(same_structure, left, right))


def number_of(program: ProgramRegion, path: Path, structures: list[Any]) -> int:
    """Return the number of some structures of elements of a loop: the same in all traces of the program."""
    # Shared by all traces of the program, so that a number means the same in each.
    known = program.structures.setdefault(path, [])
    for number, other in enumerate(known):
        if same_structures(structures, other):
            return number
    known.append(structures)
    return len(known) - 1


def check_order(program: ProgramRegion, loop: DrivenLoop) -> None:
    """Refuse a loop that takes elements of an iterator which a driven loop inside of it takes from, too.

    The outer loop's window is taken before its iterations run, so the order would not be that of the program.
    """
    inner = [other for path, other in program.loops.items() if path[: len(loop.path)] == loop.path]
    taken = {id(take.stream) for other in inner for take in other.takes if other is not loop}
    for take in loop.takes:
        if id(take.stream) in taken and not isinstance(take.stream, Pass):
            raise errors.TracingError(
                "A loop takes elements of an iterator, and so does a loop inside of it whose number of elements is "
                f"known only when it runs. Received: iterator={shown(take.stream)}. Use two iterators, or take all "
                "elements in one of the loops."
            )


def takes_of(regions: Sequence[_body.LoopRegion], own: Sequence[Any]) -> list[LoopTake]:
    """Return what a loop takes, its own streams first."""
    found: dict[int, LoopTake] = {id(stream): LoopTake(stream, True, False) for stream in own}
    for region in regions:
        for taken in region.taken_elements:
            take = found.setdefault(id(taken.stream), LoopTake(taken.stream, False, taken.is_optional))
            if take.is_optional != taken.is_optional:
                raise errors.TracingError(
                    "A loop takes both next(iterator) and get_next_as_optional() of one iterator. Expected: one of "
                    "them in a loop."
                )
    return list(found.values())


def step_of(
    carry: "_carry.Carry",
    number: int,
    body: "_carry.Body",
    element: PyTree,
    takes: list[LoopTake],
    *,
    has_test: bool,
) -> tuple[DrivenStep, list[Any]]:
    """Trace one iteration of a body, and give the values that it needs from around the loop."""
    region = body.region
    numbers = {id(take.stream): position for position, take in enumerate(takes)}
    rows, shapes = [], []
    for source in region.inputs:
        if isinstance(source, _body.TakenLeaf):
            taken = source.taken
            leaf = jax.tree.leaves(taken.structure)[source.index]
            lead = (taken.count,) if taken.block else ()
            shapes.append(jax.ShapeDtypeStruct((*lead, *leaf.shape), leaf.dtype))
            # The first leaf of an optional element says whether there is one; a window has no array of that.
            index = source.index - 1 if taken.is_optional else source.index
            rows.append(TakenArray(numbers[id(taken.stream)], index, taken.offset, taken.count, taken.block))

    def step(carried: list[Any], index: object, arrays: list[Any]) -> list[Any]:
        new, results = carry.step(element(index), carried, arrays, number)
        return [*new, results[-1]] if has_test else new

    avals = [_type(value) for value in carry.initial]
    closed = jax.make_jaxpr(step)(avals, jax.ShapeDtypeStruct((), jnp.int32), shapes)
    # Values of the trace around the loop: tracers, which have to be operands of the loop's equation.
    constants = list(closed.consts)
    made = DrivenStep(
        # The values become operands of the loop's equation: a constant could not be a tracer.
        jaxpr=jaxprs.with_constants_as_inputs(closed),
        structures=[region.structure(take.stream) for take in takes],
        counts=[region.per_iteration(take.stream) for take in takes],
        rows=rows,
        constants=[],
        is_driven=body.block.is_driven,
    )
    return made, constants


def bind(
    parent: Region,
    loop: DrivenLoop,
    initial: Sequence[Any],
    constants: list[list[Any]],
    *,
    keep_going: object,
    length: object,
) -> list[Any]:
    """Put a loop into the program that is being traced and give what it carries in the end."""
    operands = list(initial)
    if loop.test is not None:
        loop.test = len(operands)
        operands.append(keep_going)
    if loop.length == "operand":
        loop.length_at = len(operands)
        operands.append(length)
    carried = {id(variable) for variable in loop.variables.values()}
    # Given to the variables before the loop, whose interruption then leaves them as the program had them.
    for variable in parent.writes.values():
        if id(variable) not in carried:
            loop.before.append((variable, len(operands)))
            operands.append(parent.final_value(variable))
    loop.constants = len(operands)
    # Bodies for several structures share most of what they need from around the loop.
    places: dict[int, int] = {}
    for step, values in zip(loop.steps, constants, strict=True):
        for value in values:
            if id(value) not in places:
                places[id(value)] = len(operands)
                operands.append(value)
        step.constants = [places[id(value)] for value in values]
    program = parent.program
    program.loops[loop.path] = loop
    # Only loops of the function itself cut the program; an inner one is driven inside its outer one.
    if parent is program:
        program.num_driven += 1
        for take, count in zip(loop.takes, loop.steps[0].counts, strict=True):
            if isinstance(loop.length, int):
                program.note_taken(take.stream, count * loop.length)
    results: list[Any] = _body.loop_p.bind(*operands, loop=loop)
    return results


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """The two branches of a condition that the host decides on: functions of the equation's constants.

    Attributes:
        jaxprs: The first branch and the other.
        constants: Where their constants are among the operands.
        results: The types of their results.
    """

    jaxprs: tuple[jax_core.ClosedJaxpr, jax_core.ClosedJaxpr]
    constants: tuple[list[int], list[int]]
    results: list[Any]


def branch(parent: Region, predicate: object, sides: Sequence[Any]) -> list[Any]:
    """Put a condition into the program that is being traced, one of whose branches has to be driven."""
    operands = [predicate]
    made, places = [], []
    for side in sides:
        closed = jax.make_jaxpr(side)()
        places.append(list(range(len(operands), len(operands) + len(closed.consts))))
        operands += closed.consts
        made.append(jaxprs.with_constants_as_inputs(closed))
    if parent is parent.program:
        parent.program.num_driven += 1
    types = [jax.core.ShapedArray(v.aval.shape, v.aval.dtype) for v in made[0].jaxpr.outvars]
    branches = Branches((made[0], made[1]), (places[0], places[1]), types)
    results: list[Any] = _body.branch_p.bind(*operands, branches=branches)
    return results


def _type(value: object) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def results_of(initial: Sequence[Any]) -> list[Any]:
    """Return the types of what a loop carries."""
    return [jax.core.ShapedArray(value.shape, value.dtype) for value in map(_type, initial)]


def inside(equation: jax.extend.core.JaxprEqn) -> list[Any]:
    """Return the jaxprs inside an equation, those of a driven loop or condition among them."""
    return [*parts_of(equation), *jaxprs.inside(equation)]


def parts_of(equation: jax.extend.core.JaxprEqn) -> list[Any]:
    """Return the jaxprs of a driven loop or condition; none of any other equation."""
    if equation.primitive is _body.loop_p:
        return [step.jaxpr.jaxpr for step in equation.params["loop"].steps]
    if equation.primitive is _body.branch_p:
        return [closed.jaxpr for closed in equation.params["branches"].jaxprs]
    return []
