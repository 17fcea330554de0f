"""`RemoteProgram`: a step that pulls the variables it reads, and pushes what changes them (distribute layer)."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import keras
import numpy as np

from stratax.core import host, known, regions, storage
from stratax.core.programs import Program, Retrace
from stratax.core.storage import InterruptDeferred, check_fits
from stratax.errors import TracingError
from stratax.parameter_servers.remote._bound import run_bounded
from stratax.parameter_servers.remote._host_calls import (
    HostCalls,
    check_platform,
    export_compiled,
    exportable,
)
from stratax.parameter_servers.remote._layout import not_on_servers
from stratax.parameter_servers.remote._push import requests_of
from stratax.parameter_servers.remote._row_program import RowProgram
from stratax.parameter_servers.remote._row_spaces import Lookups, RowTable, pull_inputs
from stratax.parameter_servers.remote._servers import new_step
from stratax.parameter_servers.remote._step import (
    Assignment,
    InputSource,
    Push,
    RemoteStep,
    WorkerElement,
    describe_leaves,
)
from stratax.parameter_servers.remote._store import ServerStore
from stratax.parameter_servers.remote._updates import ServerUpdate


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """A program as it is sent to a worker.

    Attributes:
        step: What it takes and gives.
        programs: The exported programs.
        own: First values of random states, which each worker has for itself, by name.
        calls: What of Python it calls; None where it calls nothing.
    """

    step: RemoteStep
    programs: list[bytes]
    own: dict[str, np.ndarray]
    calls: HostCalls | None


class RemoteProgram(Program):
    """A program whose variables are on servers.

    Args:
        store: Where they are.
        parts: What it has each server do.
        num_assigned: How many variables it assigns itself.
        num_changed: How many of the arrays that it gives are their values, or sent to servers.
        specs: The types of its arguments.
        function: What is compiled.
        rows: What it looks up by rows; None where it looks up none.
        **description: See `Program`.
    """

    def __init__(
        self,
        store: ServerStore,
        parts: Sequence[ServerUpdate],
        num_assigned: int,
        num_changed: int,
        *,
        specs: list[jax.ShapeDtypeStruct],
        function: Callable[..., Any],
        rows: RowProgram | None,
        **description: Any,
    ) -> None:
        super().__init__(**description)
        self._function = function
        self._specs = specs
        self._store = store
        self._parts = parts
        self._num_assigned = num_assigned
        self._num_changed = num_changed
        self._rows = rows
        self._find = None if rows is None else jax.jit(rows.find)
        # Before the first step, and waited for: a server that can't take it says so here.
        store.servers.ask({part.server: part.definition() for part in parts})

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[regions.Stream] = (),
        traced: Sequence[regions.Stream] = (),
        retrace: Retrace | None = None,
    ) -> Any:
        check_fits(arguments)
        fed = self._take(arguments, streams, traced) if self._has_feeds else {}
        if self.watches:
            known.check_ranges(self.watches, arguments, fed)
        if host.awaited:
            host.settle_before_run()
        # Nothing is overwritten, so that Ctrl-C may come while servers or the devices are waited for.
        compute = functools.partial(self._compute, fed, arguments)
        bound = self._store.max_staleness if self._parts else None
        return self._outputs(run_bounded(self._store.servers, bound, compute, self._push))

    def _push(self, computed: tuple[list[Any], list[Any], list[Any]]) -> list[Any]:
        """Have variables get their new values, here and on servers, and return the results."""
        changed, results, arrays = computed
        with InterruptDeferred():
            assigned = list(zip(self.written, changed[: self._num_assigned], strict=True))
            if self._parts:
                # With the update, and behind it, as it may be of the same variable.
                there = [pair for pair in assigned if self._is_there(pair[0])]
                assigned = [pair for pair in assigned if not self._is_there(pair[0])]
                updates = {part.server: (part.name, part.choose_sent(arrays)) for part in self._parts}
                parts = self._store.parts_of([v for v, _ in there], [value for _, value in there])
                self._store.servers.tell(requests_of(new_step(), updates, parts))
            if assigned:
                storage.write_all([v for v, _ in assigned], [value for _, value in assigned])
        return results

    def _compute(self, fed: dict[Any, Any], arguments: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Pull and compute; return the new values, the results, and what is sent to servers."""
        _, kept = self._inputs(fed)
        numbers = self._pull(kept, arguments)
        try:
            changed, results = self._run([], kept, arguments)
        except jax.errors.JaxRuntimeError as error:
            host.raise_own(error)
            raise
        if self.can_fail:
            host.raise_failures(self.sites, None)
        arrays = [*(np.asarray(array) for array in changed[self._num_assigned :]), *numbers]
        return changed, results, arrays

    def step(self, traced: Sequence[Any], platform: str) -> Parcel:
        """Return the program as a worker runs it.

        Args:
            traced: What stands in the program for each of the streams that it is called with.
            platform: What the worker computes on.

        Raises:
            TracingError: It does something that only this process can do.
        """
        self._refuse_what_is_here_alone()
        tables = self._tables()
        lookups = Lookups() if self._rows is None else self._rows.lookups
        step = RemoteStep(
            tuple(self._worker_inputs(tables)),
            tuple(self._worker_feeds(traced)),
            tuple(map(self._assignment_of, self.written)),
            tuple(Push(part.server, part.name, tuple(part.sent)) for part in self._parts),
            lookups,
            self._store.max_staleness,
        )
        specs, find = self._worker_specs(tables, platform)
        function, calls = self._for_worker(specs, platform)
        return Parcel(
            step,
            [export_compiled(jax.jit(function), platform, specs, self._specs), *find],
            self._own(),
            calls,
        )

    def _refuse_what_is_here_alone(self) -> None:
        if any(isinstance(source, regions.HostValue) for source in self.kept):
            raise TracingError(
                "A step that a coordinator schedules can't read values of the coordinator's process while it runs, as "
                "for a summary. Return what is wanted, and look at it in the coordinator."
            )
        for variable in self.written:
            if not (self._is_on_servers(variable) or is_random_state(variable)):
                raise not_on_servers(variable.path)

    def _worker_inputs(self, tables: dict[int, RowTable]) -> list[InputSource]:
        inputs: list[InputSource] = []
        for place, source in enumerate(self.kept):
            if not isinstance(source, keras.Variable):
                number = next(i for i, feed in enumerate(self.feeds) if feed is source.feed)
                inputs.append(InputSource(feed=number, leaf=source.index))
            elif place in tables:
                inputs.append(InputSource(table=tables[place]))
            elif self._is_on_servers(source):
                inputs.append(InputSource(shards=self._store.layouts.of(source).shards))
            elif is_random_state(source):
                inputs.append(InputSource(own=_own_name(source)))
            else:
                inputs.append(InputSource(given=sum(each.given is not None for each in inputs)))
        return inputs

    def _worker_feeds(self, traced: Sequence[Any]) -> Iterator[WorkerElement]:
        for feed in self.feeds:
            number = next(index for index, stream in enumerate(traced) if stream is feed.stream)
            yield WorkerElement(number, describe_leaves(feed.structure), feed.is_optional)

    def _assignment_of(self, variable: keras.Variable) -> Assignment:
        if self._is_on_servers(variable):
            return Assignment(shards=self._store.layouts.of(variable).all)
        return Assignment(own=_own_name(variable))

    def _worker_specs(self, tables: dict[int, RowTable], platform: str) -> tuple[list[Any], list[bytes]]:
        """Return the types of what a worker's program takes as inputs, and the program that finds rows, if any."""
        specs: list[Any] = [input_spec(source) for source in self.kept]
        if self._rows is None or self._find is None:
            return specs, []
        lookups = self._rows.lookups
        every = [*specs, *self._specs]
        needed = [every[index] for index in lookups.needed]
        for place, table in tables.items():
            size = lookups.spaces[table.space].size
            specs[place] = jax.ShapeDtypeStruct((size, *table.row), specs[place].dtype)
        numbers = jax.eval_shape(self._find, *needed)
        specs += [spec_of(numbers[index]) for space in lookups.spaces for index in space.ids]
        return specs, [export_compiled(self._find, platform, *needed)]

    def _own(self) -> dict[str, np.ndarray]:
        """Return the first values of what each worker has for itself, by name."""
        own = [source for source in self._here() if is_random_state(source)]
        values = regions.concrete_values(own)
        return {_own_name(variable): np.asarray(value) for variable, value in zip(own, values, strict=True)}

    def _here(self) -> list[keras.Variable]:
        """Return the variables that a step reads and that servers do not keep."""
        return [
            source
            for source in self.kept
            if isinstance(source, keras.Variable) and not self._is_on_servers(source)
        ]

    def collect_given(self) -> list[np.ndarray]:
        """Return the values of variables that a step reads and that are in this process, as they are now."""
        here = [variable for variable in self._here() if not is_random_state(variable)]
        return [np.asarray(value) for value in regions.concrete_values(here)]

    def _for_worker(
        self, specs: list[Any], platform: str
    ) -> tuple[Callable[[list[Any], list[Any]], tuple[Any, ...]], HostCalls | None]:
        """Return what a worker computes, of inputs and arguments, and what of Python it calls."""

        def function(given: list[Any], arguments: list[Any]) -> tuple[Any, ...]:
            return self._function([], given, arguments)

        if not self.can_fail:
            return function, None
        check_platform(platform)
        flat, calls = exportable(jax.make_jaxpr(function)(specs, self._specs))

        def calling(given: list[Any], arguments: list[Any]) -> tuple[Any, ...]:
            *found, last = flat(*given, *arguments)
            return found[: self._num_changed], found[self._num_changed :], last

        return calling, calls

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return what the function returns, of the arrays that its program has given."""
        return self._outputs(arrays)

    def _is_on_servers(self, variable: keras.Variable) -> bool:
        return storage.store_of(variable) is self._store

    def _is_there(self, variable: keras.Variable) -> bool:
        """Return whether servers keep a variable, and have a value of it."""
        return self._is_on_servers(variable) and storage.has_value(variable)

    def _inputs(self, fed: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
        here = [v for v in self._read if not self._is_on_servers(v)]
        values = {id(v): value for v, value in zip(here, regions.concrete_values(here), strict=True)}
        kept: list[Any] = []
        for source in self.kept:
            if isinstance(source, keras.Variable):
                # What servers have is pulled.
                kept.append(values.get(id(source)))
            else:
                kept.append(fed[source] if source in fed else source.read())
        return [], kept

    def _tables(self) -> dict[int, RowTable]:
        """Return the variables of which rows are pulled, by their places among the inputs."""
        places = {} if self._rows is None else self._rows.tables
        tables = {}
        for place, space in places.items():
            variable = self.kept[place]
            shards = self._store.layouts.of(variable).shards
            tables[place] = RowTable(
                shards, space, tuple(variable.shape)[1:], np.dtype(_dtype_of(variable)).name
            )
        return tables

    def _pull(self, kept: list[Any], arguments: list[Any]) -> list[np.ndarray]:
        """Put what servers have in its places among the inputs, and return the rows of each row space."""
        tables = self._tables()
        variables = {
            place: self._store.layouts.of(source).shards
            for place, source in enumerate(self.kept)
            if isinstance(source, keras.Variable) and self._is_on_servers(source) and place not in tables
        }
        lookups = Lookups() if self._rows is None else self._rows.lookups
        return pull_inputs(self._store.puller, kept, arguments, variables, tables, lookups, self._find)


def is_random_state(variable: keras.Variable) -> bool:
    """Return whether a variable is what random numbers are drawn from, of which each worker has its own."""
    return variable.dtype == "uint32" and tuple(variable.shape) == (2,)


def _own_name(variable: keras.Variable) -> str:
    return f"{variable.path}@{id(variable)}"


def _dtype_of(variable: keras.Variable) -> Any:
    return jax.dtypes.canonicalize_dtype(variable.dtype)


def input_spec(source: Any) -> jax.ShapeDtypeStruct:
    """Return the type of an input."""
    if isinstance(source, keras.Variable):
        return jax.ShapeDtypeStruct(tuple(source.shape), _dtype_of(source))
    if isinstance(source, regions.HostValue):
        return spec_of(source)
    return spec_of(jax.tree.leaves(source.feed.structure)[source.index])


def spec_of(aval: Any) -> jax.ShapeDtypeStruct:
    """Return the type of what has a shape and a dtype."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
