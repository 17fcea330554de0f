"""A program in two stages on different devices: replicas compute, then one device updates (core layer).

XLA compiles a program for one set of devices. Where variables are kept on another one than the replicas' (the host,
say), what was traced is cut in two: everything up to the last computation of the replicas, and the rest, which runs
where the variables are.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
from jax.extend import core as jax_core

from stratax.core import jaxprs, regions
from stratax.core.storage import without_mesh_p

# The primitives in which replicas compute.
_REPLICATED = ("shard_map", without_mesh_p.name)


class StagedProgram:
    """What was traced, as two compiled programs that are called like one.

    Args:
        closed: The traced jaxpr, with markers for its inputs.
        donated: Which inputs the second stage may overwrite, by position, in the order they are passed.
        kept: Which inputs it only reads.
        written: Which results are variables' new values, in the order they are returned; the rest are results.
        num_written: How many of the jaxpr's first results are variables' new values.
        placement: Where the first stage needs its inputs.
        storage: Where inputs come from, where the second stage runs and where new values are put.
    """

    def __init__(
        self,
        closed: jax_core.ClosedJaxpr,
        *,
        donated: Sequence[int],
        kept: Sequence[int],
        written: Sequence[int],
        num_written: int,
        placement: jax.sharding.Sharding,
        storage: jax.sharding.Sharding,
    ) -> None:
        self._inputs = jaxprs.markers_of(closed.jaxpr)
        jaxpr = jaxprs.without_markers(closed.jaxpr)
        # With everything that the replicas' computations need.
        first = jaxprs.find_needed(jaxpr, also=_has_replicas).equations
        second = jaxprs.others(jaxpr, first)
        self._arguments = list(jaxpr.invars)
        self._constants = dict(zip(jaxpr.constvars, closed.consts, strict=True))
        self._outputs = list(jaxpr.outvars)
        self._order = [*written, *range(num_written, len(self._outputs))]
        self._num_written = num_written
        self._donated, self._kept = list(donated), list(kept)
        self._placement, self._storage = placement, storage
        wanted = {v for v in self._outputs if isinstance(v, jax_core.Var)}
        later = {v for e in second for v in e.invars if isinstance(v, jax_core.Var)}
        made = wanted.intersection(v for e in second for v in e.outvars)
        self._first = Stage(jaxpr, first, wanted | later)
        # A variable whose new value is a constant, or comes from the first stage, leaves no result to take its buffer.
        overwritten = {
            self._inputs[position]
            for position, result in zip(donated, written, strict=False)
            if not isinstance(self._outputs[result], jax_core.Literal) and self._outputs[result] in made
        }
        self._second = Stage(jaxpr, second, wanted, overwritten)

    def __call__(
        self, donated: list[Any], kept: list[Any], arguments: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Run both stages: `(variables' new values, results)`."""
        state = {self._inputs[p]: v for p, v in zip(self._donated, donated, strict=True)}
        state |= {self._inputs[p]: v for p, v in zip(self._kept, kept, strict=True)}
        given = self._constants | dict(zip(self._arguments, arguments, strict=True))
        # Only the variables that the replicas read travel to their devices.
        needed = [v for v in self._first.inputs if v in state]
        # A copy, never an alias: the second stage overwrites what it is given.
        sent = jax.device_put([state[v] for v in needed], self._placement, may_alias=False)
        middle = self._first(given | dict(zip(needed, sent, strict=True)))
        moved = [v for v in self._second.inputs if v not in state]
        fetched = jax.device_put([(given | middle)[v] for v in moved], self._storage)
        last = self._second(state | dict(zip(moved, fetched, strict=True)))
        values = given | state | middle | last
        results = [jaxprs.value_of(values, v) for v in self._outputs]
        ordered = [results[index] for index in self._order]
        # Those that come from the first stage, too: variables live where their storage is.
        new = jax.device_put(ordered[: self._num_written], self._storage)
        return new, ordered[self._num_written :]


class Stage:
    """Some equations of a jaxpr as a compiled function on a dict of values."""

    def __init__(
        self,
        jaxpr: jax.extend.core.Jaxpr,
        equations: list[Any],
        wanted: set[Any],
        donated: set[Any] | None = None,
    ) -> None:
        made = {v: None for e in equations for v in e.outvars}
        used = dict.fromkeys(v for e in equations for v in e.invars if isinstance(v, jax_core.Var))
        inputs = [v for v in used if v not in made]
        self._donated = [v for v in inputs if v in (donated or ())]
        self._others = [v for v in inputs if v not in (donated or ())]
        # In the order of `made`, which is that of the equations: sets have none.
        self._results = [v for v in made if v in wanted]
        cut = jaxprs.cut_out(jaxpr, equations, self.inputs, self._results)
        # Two lists, since donation is by argument: all of the first one is donated, nothing of the second.
        self._run = regions.jit(
            lambda own, rest: jaxprs.inline(cut, [*own, *rest]), name=jaxpr.debug_info.func_name, donated=(0,)
        )

    @property
    def inputs(self) -> list[Any]:
        """The variables of the jaxpr that the stage reads."""
        return [*self._donated, *self._others]

    def __call__(self, values: dict[Any, Any]) -> dict[Any, Any]:
        results = self._run([values[v] for v in self._donated], [values[v] for v in self._others])
        return dict(zip(self._results, results, strict=True))


def _has_replicas(equation: jax.extend.core.JaxprEqn) -> bool:
    return jaxprs.holds_within(equation, lambda each: each.primitive.name in _REPLICATED)
