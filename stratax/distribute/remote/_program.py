"""`RemoteProgram`: a step that pulls the variables it reads, and pushes what changes them (distribute layer)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.core import arrivals, programs, regions, variable_store
from stratax.core.dispatches import InterruptDeferred
from stratax.core.placement import check_fits
from stratax.distribute.remote._push import requests_of
from stratax.distribute.remote._servers import new_step
from stratax.distribute.remote._step import Assignment, Feed, Input, Push, Step, described
from stratax.distribute.remote._store import ServerStore
from stratax.distribute.remote._updates import Update, sum_of_assignments, update_of
from stratax.errors import TracingError
from stratax.seams.jax import core


def build(
    store: ServerStore, closed: Any, region: regions.ProgramRegion, outputs: Any, name: str
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
    if region.loops or region.passes:
        raise TracingError(
            f"{name} goes through a dataset in a compiled function. Expected with a ParameterServerStrategy: a step "
            "for each call, `strategy.run(step, args=(next(iterator),))`, with the loop in Python around it, so that "
            "variables are pulled and gradients pushed in each of them."
        )
    written = list(region.writes.values())
    num_inputs, num_written = len(region.inputs), len(written)
    places = {id(source): index for index, source in enumerate(region.inputs)}
    markers = {
        equation.params["index"]: equation.outvars[0]
        for equation in closed.jaxpr.eqns
        if equation.primitive is programs.input_p
    }
    # What is added to variables on servers is sent as that, so that no other worker's is lost.
    # A variable that an optimizer updates, too, was read with that update made: its new value is assigned behind it.
    updated = {key for part in region.handed_on for key in part.purpose.variables}
    sums: list[tuple[keras.Variable, list[tuple[str, Any]]]] = []
    assigned: list[int] = []
    for output, variable in enumerate(written):
        place = places.get(id(variable))
        found = None
        is_there = place is not None and variable_store.store_of(variable) is store
        if is_there and id(variable) not in updated:
            found = sum_of_assignments(closed, output, markers[place])
        if found is None:
            assigned.append(output)
        else:
            sums.append((variable, found))
    added = [atom for _, parts in sums for _, atom in parts]
    num_results = len(closed.out_avals) - num_written - region.num_handed_on
    handed = closed.jaxpr.outvars[len(closed.out_avals) - region.num_handed_on :]
    results = closed.jaxpr.outvars[num_written : num_written + num_results]
    arrays = [*handed, *added]
    assignments = [closed.jaxpr.outvars[output] for output in assigned]
    rearranged = core.ClosedJaxpr(
        closed.jaxpr.replace(
            outvars=[*assignments, *arrays, *results],
            debug_info=closed.jaxpr.debug_info._replace(result_paths=None),
        ),
        closed.consts,
    )

    def make(given: list[Any]) -> None:
        rest = iter(given)
        for part in region.handed_on:
            part.purpose.make([next(rest) for _ in part.arrays])
        for variable, parts in sums:
            value: Any = variable.value
            for operation, _ in parts:
                value = value + next(rest) if operation == "add" else value - next(rest)
            keras.Variable.assign(variable, value)

    update = update_of(store, make, [_spec(atom.aval) for atom in arrays]) if arrays else None
    flat = programs.lift_inputs(rearranged, num_inputs)
    num_assigned, num_arrays = len(assigned), len(arrays)

    def run(donated: list[Any], kept: list[Any], arguments: list[Any]) -> tuple[list[Any], list[Any]]:
        found = flat(*kept, *arguments)
        pushed = found[num_assigned : num_assigned + num_arrays]
        prepared = update.prepare(*pushed) if update is not None else []
        return [*found[:num_assigned], *prepared], found[num_assigned + num_arrays :]

    run.__name__ = name
    can_fail = programs.calls_back(closed.jaxpr)
    return RemoteProgram(
        store,
        update,
        num_assigned,
        specs=[_spec(aval) for aval in closed.in_avals],
        function=run,
        compiled=jax.jit(run),
        donated=[],
        kept=list(region.inputs),
        written=[written[output] for output in assigned],
        feeds=region.feeds,
        outputs=outputs,
        placement=None,
        can_fail=can_fail,
        sites=programs.sites_of(closed.jaxpr) if can_fail else [],
    )


class RemoteProgram(programs.Program):
    """A program whose variables are on servers.

    Args:
        store: Where they are.
        update: The update that it has servers make; None for none.
        num_assigned: How many variables it assigns itself.
        specs: The types of its arguments.
        function: What is compiled.
        **description: See `Program`.
    """

    def __init__(
        self,
        store: ServerStore,
        update: Update | None,
        num_assigned: int,
        *,
        specs: list[jax.ShapeDtypeStruct],
        function: Callable[..., Any],
        **description: Any,
    ) -> None:
        super().__init__(**description)
        self._function = function
        self._specs = specs
        self._store = store
        self._update = update
        self._num_assigned = num_assigned
        if update is not None:
            # Before the first step, and waited for: a server that can't take it says so here.
            store.servers.ask({part.server: part.definition() for part in update.parts})

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[programs.Stream] = (),
        traced: Sequence[programs.Stream] = (),
        retrace: programs.Retrace | None = None,
    ) -> Any:
        check_fits(arguments)
        fed = self._take(arguments, streams, traced) if self._has_feeds else {}
        arrivals.settle_before_run()
        # Nothing is overwritten, so that Ctrl-C may come while servers or the devices are waited for.
        _, kept = self._inputs(fed)
        changed, results = self._dispatch([], kept, arguments)
        if self.can_fail:
            jax.block_until_ready((changed, results))
            programs.raise_failures(self.sites, None)
        arrays = [np.asarray(array) for array in changed[self._num_assigned :]]
        with InterruptDeferred():
            assigned = list(zip(self.written, changed[: self._num_assigned], strict=True))
            if self._update is not None:
                # With the update, and behind it, as it may be of the same variable.
                there = [pair for pair in assigned if self._is_there(pair[0])]
                assigned = [pair for pair in assigned if not self._is_there(pair[0])]
                updates = {part.server: (part.name, part.sent_of(arrays)) for part in self._update.parts}
                parts = self._store.parts_of([v for v, _ in there], [value for _, value in there])
                self._store.servers.tell(requests_of(new_step(), updates, parts))
            if assigned:
                variable_store.write_all([v for v, _ in assigned], [value for _, value in assigned])
        return self._outputs(results)

    def step(self, traced: Sequence[Any], platform: str) -> tuple[Step, bytes, dict[str, np.ndarray]]:
        """Return the program as a worker runs it.

        Args:
            traced: What stands in the program for each of the streams that it is called with.
            platform: What the worker computes on.

        Returns:
            What it takes and gives, the exported program, and first values of the variables that each worker has for
            itself, by name.

        Raises:
            TracingError: It does something that only this process can do.
        """
        if self.can_fail or any(isinstance(source, programs.HostValue) for source in self.kept):
            raise TracingError(
                "A step that a coordinator schedules can't call Python while it runs (print, py_function, an "
                "assertion, a summary). Return what is wanted, and look at it in the coordinator."
            )
        own: dict[str, np.ndarray] = {}
        inputs, specs = [], []
        for source in self.kept:
            if isinstance(source, keras.Variable):
                specs.append(jax.ShapeDtypeStruct(tuple(source.shape), _dtype_of(source)))
                if variable_store.store_of(source) is self._store:
                    inputs.append(Input(shards=self._store.layouts.of(source).shards))
                else:
                    own[_own_name(source)] = np.asarray(regions.concrete_values([source])[0])
                    inputs.append(Input(own=_own_name(source)))
            else:
                leaf = jax.tree.leaves(source.feed.structure)[source.index]
                specs.append(_spec(leaf))
                number = next(i for i, feed in enumerate(self.feeds) if feed is source.feed)
                inputs.append(Input(feed=number, leaf=source.index))
        feeds = tuple(
            Feed(
                next(index for index, stream in enumerate(traced) if stream is feed.stream),
                described(feed.structure),
                feed.is_optional,
            )
            for feed in self.feeds
        )
        assignments = tuple(
            Assignment(shards=self._store.layouts.of(variable).all)
            if variable_store.store_of(variable) is self._store
            else Assignment(own=_own_name(variable))
            for variable in self.written
        )
        parts = () if self._update is None else self._update.parts
        pushes = tuple(Push(part.server, part.name, tuple(part.sent)) for part in parts)

        def function(given: list[Any], arguments: list[Any]) -> tuple[list[Any], list[Any]]:
            changed, results = self._function([], given, arguments)
            return changed, results

        exported = jax.export.export(jax.jit(function), platforms=(platform,))(specs, self._specs)
        step = Step(tuple(inputs), feeds, assignments, pushes)
        return step, bytes(exported.serialize()), own

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return what the function returns, of the arrays that its program has given."""
        return self._outputs(arrays)

    def _is_there(self, variable: keras.Variable) -> bool:
        """Return whether servers keep a variable, and have a value of it."""
        return variable_store.store_of(variable) is self._store and variable_store.has_value(variable)

    def _inputs(self, fed: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
        there = [v for v in self._read if variable_store.store_of(v) is self._store]
        here = [v for v in self._read if variable_store.store_of(v) is not self._store]
        values = {id(v): value for v, value in zip(there, self._store.pull(there), strict=True)}
        values |= {id(v): value for v, value in zip(here, regions.concrete_values(here), strict=True)}
        kept: list[Any] = []
        for source in self.kept:
            if isinstance(source, keras.Variable):
                kept.append(values[id(source)])
            else:
                kept.append(fed[source] if source in fed else source.read())
        return [], kept


def _own_name(variable: keras.Variable) -> str:
    return f"{variable.path}@{id(variable)}"


def _dtype_of(variable: keras.Variable) -> Any:
    return jax.dtypes.canonicalize_dtype(variable.dtype)


def _spec(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
