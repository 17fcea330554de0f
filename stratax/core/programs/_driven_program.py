"""A program with loops that the host drives, as a program that is called like any other (core layer)."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import control, host, jaxprs, regions, state, storage
from stratax.core.known import check_ranges, watches_of
from stratax.core.programs import _cuts, _driver, _extension
from stratax.core.programs._program import (
    Program,
    Retrace,
    TraceMemory,
    count_of,
    fits,
    place_of,
    stand_in,
    take_from,
)
from stratax.core.storage import InterruptDeferred


class DrivenProgram(Program):
    """A program with loops that the host drives.

    Args:
        closed: What was traced, with markers for inputs.
        region: The region that was traced.
        outputs: The structure of results.
        donate: Whether variables' old buffers may be reused for their new values.
        can_fail: Whether the running program can raise.
        sites: Where it asserts something.
    """

    is_driven = True

    def __init__(
        self,
        closed: jax.extend.core.ClosedJaxpr,
        region: regions.ProgramRegion,
        outputs: PyTree,
        *,
        donate: bool,
        can_fail: bool,
        sites: list[host.Site],
    ) -> None:
        sources, written = region.inputs, list(region.writes.values())
        super().__init__(
            compiled=_refuse_compiling,
            donated=[],
            kept=list(sources),
            written=written,
            feeds=region.feeds,
            outputs=outputs,
            placement=region.placement,
            # Of a driven program it also says that windows must not overwrite what they are given.
            can_fail=can_fail or not donate,
            sites=sites,
            watches=watches_of(closed, sources, region.placement),
        )
        self.storage = region.storage
        self._jaxpr = closed.jaxpr
        self._constants = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
        self._markers = jaxprs.markers_of(closed.jaxpr)
        self.memory = TraceMemory(region.seen, region.structures, region.kept)
        self._passes = list(region.passes.values())
        self._cuts = _cuts.Cuts()
        first = next((e for e in jaxprs.equations(closed.jaxpr) if e.primitive in control.DRIVEN), None)
        self._first_loop: control.DrivenLoop | None = None if first is None else first.params.get("loop")
        # Central storage: variables are kept elsewhere than where they are computed with, and are copied in
        # and out.
        self._moves = (
            self.storage is not None and self.placement is not None and self.storage != self.placement
        )

    def __call__(
        self,
        arguments: list[Any],
        streams: Sequence[regions.Stream] = (),
        traced: Sequence[regions.Stream] = (),
        retrace: Retrace | None = None,
    ) -> Any:
        storage.check_fits(arguments)
        check_ranges(self.watches, arguments, {})
        if host.awaited:
            host.settle_before_run()
        values = dict(self._constants)
        values.update(zip(self._jaxpr.invars, self._move(arguments), strict=True))

        # An iterator that the function makes is begun once a call, however many places take from it.
        begun: dict[int, regions.Stream] = {}

        def resolve(stream: Any) -> Any:
            if not isinstance(stream, regions.CallPass):
                return stand_in(stream, streams, traced)
            if id(stream) not in begun:
                begun[id(stream)] = stream.begin(stand_in(stream.source, streams, traced))
            return begun[id(stream)]

        def take(number: int, into: dict[Any, Any]) -> None:
            # What stands behind a driven loop is taken only when the loop has run: before, nobody knows where its
            # streams will be.
            fed = [feed for feed in self.feeds if feed.behind == number and feed.count]
            for feed in fed:
                stream, count = resolve(feed.stream), count_of(feed, arguments)
                # `matches` could not look at what comes behind a loop, or from an iterator that this call
                # began.
                if (number or begun) and not fits(feed, stream, 0, count):
                    raise errors.TracingError(
                        "What an iterator gives here differs in shape from what it gave when the function was traced. "
                        f"Expected: {count} elements of {shown(feed.structure)}. Take elements whose shapes "
                        "vary by a loop."
                    )
                taken = take_from(feed, stream, count)
                check_ranges(
                    [watch for watch in self.watches if not isinstance(watch.source, int)], [], taken
                )
                for leaf, value in taken.items():
                    into[self._markers[self.kept.index(leaf)]] = value

        run = _driver.ProgramRun(
            self._cuts,
            resolve=resolve,
            take=take,
            extend=functools.partial(_extension.extend, self, retrace),
            placement=self.placement,
            storage=self.storage,
            can_fail=self.can_fail,
            sites=self.sites,
            spans_processes=self._spans_processes,
        )
        try:
            # Inside of the `try`: whatever fails, variables get what the loops so far have left them with.
            self._read_variables(values)
            run.top(self._jaxpr, values)
            results = [_driver.value_of(atom, values) for atom in self._jaxpr.outvars]
            with InterruptDeferred():
                # Assigned together, so that an interrupt can't leave some of them behind the others.
                new = [
                    self._store(variable, value)
                    for variable, value in zip(self.written, results[: len(self.written)], strict=True)
                ]
                storage.write_all(self.written, new)
                state.settle(self._written_parts)
                run.forget_held()
        except BaseException:
            with InterruptDeferred():
                run.commit_held()
            raise
        finally:
            # A pass that was opened while tracing, and that no run went on with, has threads and files.
            for made in (*self._passes, *begun.values()):
                made.close()  # type: ignore[attr-defined]
        if self.afterwards:
            self._act(streams, traced)
        return self._outputs(results[len(self.written) :])

    def matches(
        self, streams: Sequence[regions.Stream], traced: Sequence[regions.Stream], known: Sequence[Any]
    ) -> bool:
        if not super().matches(streams, traced, known):
            return False
        # Only the first loop's elements can be looked at before anything has run; a later loop is traced anew where
        # its elements don't fit (`_extension`).
        if self._first_loop is None:
            return True
        for position, take in enumerate(self._first_loop.takes):
            stream = stand_in(take.stream, streams, traced)
            # A pass begins anew with each run: its first element can't be seen without reading it.
            if isinstance(stream, regions.Pass):
                continue
            skip = sum(
                count_of(feed, known) for feed in self.feeds if feed.stream is take.stream and not feed.behind
            )
            runs = stream.peek_up_to(skip, 1)
            structures = [step.structures[position] for step in self._first_loop.steps]
            if runs and not any(control.same_structure(runs[0][0], each) for each in structures):
                return False
        return True

    @property
    def traced(self) -> _extension.TracedProgram:
        """The traced jaxpr, its inputs and feeds, as a later trace of the same function is compared with."""
        return _extension.TracedProgram(self._jaxpr, self.kept, self.feeds)

    def _read_variables(self, values: dict[Any, Any]) -> None:
        wanted = [position for position, index in enumerate(self._kept_positions) if index in self._markers]
        variables = [self._read[position] for position in wanted]
        value: Any
        for position, variable, value in zip(
            wanted, variables, regions.concrete_values(variables), strict=True
        ):
            if self._moves:
                # A copy, never an alias: what a loop carries is overwritten.
                value = jax.device_put(value, self.placement, may_alias=False)
            elif id(value) != self._placed_ids[position]:
                value = self._place(variable, value)
            values[self._markers[self._kept_positions[position]]] = value
        for index, source in self._host_values.items():
            now = source.read()
            values[self._markers[index]] = (
                now if self.placement is None else storage.place(now, self.placement)
            )

    def _store(self, variable: keras.Variable, value: object) -> Any:
        # What was copied for the computation goes back to where it is stored.
        where = place_of(variable, self.storage if self._moves else self.placement)
        if where is None:
            return value
        if (
            isinstance(value, jax.Array)
            and value.committed
            and value.sharding.is_equivalent_to(where, value.ndim)
        ):
            return value
        return jax.device_put(value, where) if where.is_fully_addressable else storage.place(value, where)


def _refuse_compiling(*_: object) -> Any:
    raise AssertionError  # Such a program is run part by part.
