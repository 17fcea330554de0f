"""Further structures for the loops of a program that is running (core layer).

A loop meets elements of another shape than those that its body was traced for: the last batch, say. The body alone
can't be traced again, since it uses what the function has computed around it. So the whole function is traced once
more, with the new structure as a hint, and the loop's iteration for it is taken out of that trace. What it needs from
around the loop is found by its place: the trace is the same up to there.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core
from jax.extend import core as jax_core

from stratax import errors
from stratax.base.shown import shown
from stratax.core import control, host, jaxprs, regions

_FIX = "Make the elements' shapes equal (`batch(..., drop_remainder=True)`, padding)."


@dataclasses.dataclass(frozen=True, slots=True)
class TracedProgram:
    """A traced program: its jaxpr, what its inputs stand for, and what it takes from streams."""

    jaxpr: Any
    sources: Sequence[Any]
    feeds: Sequence[regions.StreamFeed]


def extend(
    program: Any,
    retrace: Callable[..., tuple[Any, regions.ProgramRegion]] | None,
    loop: control.DrivenLoop,
    structures: list[Any],
    jaxpr: jax.extend.core.ClosedJaxpr,
    values: dict[Any, Any],
) -> control.DrivenStep:
    """Trace the iteration of a loop for elements of other structures.

    Args:
        program: The program that is running.
        retrace: Traces its function once more.
        loop: The loop.
        structures: The structures of the elements of each stream that it takes from.
        jaxpr: The jaxpr that the loop stands in.
        values: The values of the jaxpr's variables as far as it has run.

    Raises:
        TracingError: The function's trace differs with the structure in more than the loop's iteration.
    """
    if retrace is None:
        raise AssertionError  # Functions run their programs with it.
    closed, region = retrace(program.memory, _hints(program.memory.structures, loop.path, structures))
    found = region.loops.get(loop.path)
    step = None if found is None else next((s for s in found.steps if _fits(s, structures)), None)
    # The loop that is running keeps its carried values, so the new iteration must carry exactly the same.
    if found is None or step is None or not _carries_the_same(found, loop):
        raise errors.TracingError(
            "The elements of a loop differ in shape, and the loop's results or the variables that it writes differ "
            f"with them. Expected: what a loop computes has one shape. Received: elements of {shown(structures)}. "
            f"{_FIX}"
        )
    inside, equation = _place_of(closed.jaxpr, found)
    new = TracedProgram(inside, region.inputs, region.feeds)
    old = dataclasses.replace(program.traced, jaxpr=jaxpr)
    sources = [_counterpart(equation.invars[place], new, old, closed) for place in step.constants]
    for source in sources:
        # What the new iteration reads must have been computed by the program that is running.
        if isinstance(source, jax_core.Var) and source not in values:
            raise errors.TracingError(
                "The elements of a loop differ in shape, and for some of them it needs a value from before the loop "
                f"that it did not need for the others. Received: elements of {shown(structures)}. {_FIX}"
            )
    # The program looks at what they assert from now on.
    program.sites.extend(host.sites_of(step.jaxpr.jaxpr, control.inside))
    return dataclasses.replace(step, constants=[_Constant(s) if _is_value(s) else s for s in sources])


def _hints(
    known: dict[regions.Path, list[Any]], path: regions.Path, structures: list[Any]
) -> dict[regions.Path, list[Any]]:
    """Return what to trace a loop for, and the loops around it: the elements that they have now."""
    # Loops around this one are traced for the bodies that they are in now; else the path would lead
    # elsewhere.
    hints = {path: [structures]}
    for position, part in enumerate(path):
        if part < 0:
            around = path[:position]
            # Negative parts of a path number a loop's bodies, as `_loops` makes them.
            hints[around] = [known[around][-1 - part]]
    return hints


def _is_value(source: object) -> bool:
    return not isinstance(source, (jax_core.Var, jax_core.Literal))


def _Constant(value: object) -> Any:
    """Return a constant of the function, as what stands for a value in a jaxpr."""
    return jax_core.Literal(value, jax.typeof(value))


def _fits(step: control.DrivenStep, structures: list[Any]) -> bool:
    return control.same_structures(step.structures, structures)


def _carries_the_same(left: control.DrivenLoop, right: control.DrivenLoop) -> bool:
    def describe_results(loop: control.DrivenLoop) -> list[Any]:
        return [(tuple(aval.shape), aval.dtype) for aval in loop.results]

    def variables(loop: control.DrivenLoop) -> list[Any]:
        return [
            (position, id(variable.variable if isinstance(variable, regions.Spread) else variable))
            for position, variable in loop.variables.items()
        ]

    return describe_results(left) == describe_results(right) and variables(left) == variables(right)


def _place_of(jaxpr: jax.extend.core.Jaxpr, loop: control.DrivenLoop) -> tuple[Any, Any]:
    """Return the jaxpr that a loop stands in, and its equation."""
    for inside in jaxprs.levels(jaxpr, control.parts_of):
        for equation in jaxprs.equations(inside):
            if equation.primitive is control.loop_p and equation.params["loop"] is loop:
                return inside, equation
    raise errors.TracingError(
        f"A loop over elements of several shapes can't be traced for all of them. {_FIX}"
    )


def _counterpart(
    atom: object, new: TracedProgram, old: TracedProgram, closed: jax.extend.core.ClosedJaxpr
) -> Any:
    """Return what a value of the new trace is in the old one: a variable of its jaxpr, or a constant's value."""
    if isinstance(atom, jax_core.Literal):
        return atom
    constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    if atom in constants:
        return constants[atom]
    key = keys_of(new)[atom]
    for variable, other in keys_of(old).items():
        if other == key:
            return variable
    raise errors.TracingError(
        "A function was traced again for elements of another shape, and came to a loop in another way than before. "
        f"Expected: the same computation up to the loop. Received: {shown(str(key))} where there was none. {_FIX}"
    )


def keys_of(traced: TracedProgram) -> dict[Any, Any]:
    """Return where the variables of a jaxpr come from, alike in two traces of one function."""
    keys: dict[Any, Any] = {
        variable: ("argument", index, str(variable.aval))
        for index, variable in enumerate(traced.jaxpr.invars)
    }
    for number, variable in jaxprs.markers_of(traced.jaxpr).items():
        keys[variable] = _source_key(traced.sources[number], traced.feeds)
    for number, equation in enumerate(jaxprs.equations(jaxprs.without_markers(traced.jaxpr)), 1):
        for index, variable in enumerate(equation.outvars):
            # By number: up to the loop both traces have the same equations in the same order.
            keys[variable] = (equation.primitive.name, number, index, str(variable.aval))
    return keys


def _source_key(source: object, feeds: Sequence[regions.StreamFeed]) -> Any:
    if isinstance(source, regions.FeedLeaf):
        return ("feed", next(i for i, feed in enumerate(feeds) if feed is source.feed), source.index)
    if isinstance(source, regions.HostValue):
        return ("host", source.name)
    # The variable outlives both traces, so its id means the same in both.
    return ("variable", id(source))
