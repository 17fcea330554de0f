"""How a function that was traced becomes a program whose variables are on servers (distribute layer)."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import keras

from stratax.core import jaxprs, known, programs, regions, storage
from stratax.errors import TracingError
from stratax.parameter_servers.remote._additions import Addition, additions_of
from stratax.parameter_servers.remote._program import RemoteProgram, input_spec, spec_of
from stratax.parameter_servers.remote._row_program import RowProgram, in_row_space
from stratax.parameter_servers.remote._store import ServerStore
from stratax.parameter_servers.remote._updates import ServerUpdate, Update, parts_of, update_of


def build(
    store: ServerStore, closed: Any, region: regions.ProgramRegion, outputs: object, name: str
) -> programs.Program:
    """Make the program of a function that was traced.

    Args:
        store: Where variables are.
        closed: What was traced.
        region: Its region.
        outputs: The structure of its results.
        name: What it is called in messages.

    Raises:
        TracingError: The function has a loop that the host would drive.
    """
    _refuse_loops(region, name)
    changes = _changes_of(store, closed, region)
    computation = _computation_of(closed, region, changes)
    rows = _find_rows(store, closed, region, computation)
    run = _function_of(computation, rows, len(region.inputs))
    run.__name__ = name
    can_fail = programs.calls_back(closed.jaxpr)
    written = list(region.writes.values())
    return RemoteProgram(
        store,
        _parts_of(store, computation, rows),
        computation.num_assigned,
        computation.num_changed,
        specs=[spec_of(aval) for aval in closed.in_avals],
        function=run,
        rows=rows,
        compiled=jax.jit(run),
        donated=[],
        kept=list(region.inputs),
        written=[written[output] for output in changes.assigned],
        feeds=region.feeds,
        outputs=outputs,
        placement=None,
        can_fail=can_fail,
        sites=programs.sites_of(closed.jaxpr) if can_fail else [],
        watches=known.watches_of(closed, region.inputs, None),
    )


def _refuse_loops(region: regions.ProgramRegion, name: str) -> None:
    if region.loops or region.passes:
        raise TracingError(
            f"{name} goes through a dataset in a compiled function. Expected with a ParameterServerStrategy: a step "
            "for each call, `strategy.run(step, args=(next(iterator),))`, with the loop in Python around it, so that "
            "variables are pulled and gradients pushed in each of them."
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Changes:
    """How a function changes variables itself, besides what it hands on to optimizers.

    Attributes:
        sums: Variables on servers that something is added to, and what it is.
        assigned: Which of the variables that it writes get new values otherwise.
    """

    sums: list[tuple[keras.Variable, list[Addition]]]
    assigned: list[int]


def _changes_of(store: ServerStore, closed: Any, region: regions.ProgramRegion) -> _Changes:
    changes = _Changes([], [])
    places = {id(source): index for index, source in enumerate(region.inputs)}
    markers = jaxprs.markers_of(closed.jaxpr)
    # A variable that an optimizer updates, too, was read with that update made: its new value is assigned behind it.
    updated = {key for part in region.handed_on for key in part.purpose.variables}
    for output, variable in enumerate(region.writes.values()):
        place = places.get(id(variable))
        is_there = storage.store_of(variable) is store and id(variable) not in updated
        found = None
        if is_there and place is not None:
            found = additions_of(closed, output, markers[place])
        if found is None:
            changes.assigned.append(output)
        else:
            # Sent as what is added, so that no other worker's is lost.
            changes.sums.append((variable, found))
    return changes


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Computation:
    """What a worker computes: new values of variables, what servers are sent, and the function's results.

    Attributes:
        function: Gives, of inputs and arguments: new values, the arrays of the update, results.
        num_assigned: How many new values it gives.
        num_arrays: How many arrays of the update.
        update: What servers do with them; None where there are none.
    """

    function: Callable[..., list[Any]]
    num_assigned: int
    num_arrays: int
    update: Update | None

    def compute(self, *given: object) -> list[Any]:
        """Compute; in the places of the update's arrays is what servers are sent of them."""
        found = self.function(*given)
        if self.update is None:
            return found
        start, stop = self.num_assigned, self.num_assigned + self.num_arrays
        return [*found[:start], *self.update.prepare(*found[start:stop]), *found[stop:]]

    @property
    def sent(self) -> list[Any]:
        """The types of what servers are sent."""
        return [] if self.update is None else self.update.sent

    @property
    def num_changed(self) -> int:
        """How many of the arrays that it gives are no results."""
        return self.num_assigned + len(self.sent)


def _computation_of(closed: Any, region: regions.ProgramRegion, changes: _Changes) -> _Computation:
    every = closed.jaxpr.outvars
    behind = len(every) - region.num_handed_on
    assigned = [every[output] for output in changes.assigned]
    added = [atom for _, parts in changes.sums for part in parts for atom in part.atoms]
    arrays = [*every[behind:], *added]
    update = None
    if arrays:
        make = functools.partial(_make, region, changes)
        update = update_of(make, [spec_of(atom.aval) for atom in arrays])
    rearranged = jaxprs.cut(closed, outputs=[*assigned, *arrays, *every[len(region.writes) : behind]])
    function = jaxprs.lift_inputs(rearranged, len(region.inputs))
    return _Computation(function, len(assigned), len(arrays), update)


def _make(region: regions.ProgramRegion, changes: _Changes, arrays: Sequence[Any]) -> None:
    """Make the update of variables: what was handed on, and what is added."""
    rest: Iterator[Any] = iter(arrays)
    for part in region.handed_on:
        part.purpose.make([next(rest) for _ in part.arrays])
    for variable, parts in changes.sums:
        value: Any = variable.value
        for addition in parts:
            value = addition.make(value, *[next(rest) for _ in addition.atoms])
        keras.Variable.assign(variable, value)


def _find_rows(
    store: ServerStore, closed: Any, region: regions.ProgramRegion, computation: _Computation
) -> RowProgram | None:
    on_servers = [
        index
        for index, source in enumerate(region.inputs)
        if isinstance(source, keras.Variable) and storage.store_of(source) is store
    ]
    return in_row_space(
        computation.compute,
        [*map(input_spec, region.inputs), *map(spec_of, closed.in_avals)],
        on_servers,
        range(computation.num_assigned, computation.num_changed),
    )


def _function_of(
    computation: _Computation, rows: RowProgram | None, num_inputs: int
) -> Callable[[list[Any], list[Any], list[Any]], tuple[list[Any], list[Any]]]:
    """Return `(donated, kept, arguments) -> (changed, results)`, behind whose inputs stand places of rows, if any."""

    def run(donated: list[Any], kept: list[Any], arguments: list[Any]) -> tuple[list[Any], list[Any]]:
        if rows is None:
            found = computation.compute(*kept, *arguments)
        else:
            found = rows.function([*kept[:num_inputs], *arguments], kept[num_inputs:])
        return found[: computation.num_changed], found[computation.num_changed :]

    return run


def _parts_of(store: ServerStore, computation: _Computation, rows: RowProgram | None) -> list[ServerUpdate]:
    if computation.update is None:
        return []
    pushed = {} if rows is None else rows.pushed
    # The numbers of rows are sent behind everything else.
    by_rows = {
        index - computation.num_assigned: len(computation.sent) + space for index, space in pushed.items()
    }
    return parts_of(store, computation.update, by_rows)
