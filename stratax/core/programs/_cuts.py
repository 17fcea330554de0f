"""Programs with loops that the host drives, cut into what can be compiled (core layer)."""

import collections
from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax.extend import core as jax_core

from stratax.base.typing import PyTree
from stratax.core import control, jaxprs, regions
from stratax.core.programs import _stages
from stratax.core.programs._program import options_of


class Segments:
    """A jaxpr, cut where the host has to do something.

    Args:
        jaxpr: The jaxpr.
    """

    def __init__(self, jaxpr: jax.extend.core.Jaxpr) -> None:
        self.jaxpr = jaxpr
        self.parts: list[Any] = []
        equations = jaxprs.equations(jaxprs.without_markers(jaxpr))
        later = {v for v in jaxpr.outvars if isinstance(v, jax_core.Var)}
        # What the parts behind a part read is what it has to give, so they are made from the last one on.
        straight: list[Any] = []
        for equation in [*reversed(equations), None]:
            if equation is not None and equation.primitive not in control.DRIVEN:
                straight.insert(0, equation)
                continue
            if straight:
                self.parts.insert(0, _stages.Stage(jaxpr, straight, later))
                later |= {v for e in straight for v in e.invars if isinstance(v, jax_core.Var)}
                straight = []
            if equation is not None:
                self.parts.insert(0, Driven(equation, set(later)))
                later |= {v for v in equation.invars if isinstance(v, jax_core.Var)}


class Driven:
    """An equation that the host drives.

    Attributes:
        equation: The equation.
        last_uses: Which operands nothing else reads, there or later.
    """

    def __init__(self, equation: jax.extend.core.JaxprEqn, later: set[Any]) -> None:
        self.equation = equation
        counts = collections.Counter(v for v in equation.invars if isinstance(v, jax_core.Var))
        self.last_uses = [
            # Only such a value's buffer may be given away: nobody reads it any more.
            isinstance(v, jax_core.Var) and counts[v] == 1 and v not in later
            for v in equation.invars
        ]


class Cuts:
    """The parts of a program's jaxprs and its compiled loops, made when they are first needed.

    Attributes:
        compiled: What has been dispatched before, so that it need not be compiled any more.
    """

    def __init__(self) -> None:
        self._segments: dict[int, tuple[Any, Segments]] = {}
        self._windows: dict[Any, Any] = {}
        self.compiled: set[Any] = set()

    def segments(self, jaxpr: jax.extend.core.Jaxpr) -> Segments:
        """Return the segments of a jaxpr, cut between loops that the host drives."""
        if id(jaxpr) not in self._segments:
            # The jaxpr is kept with its parts: were it freed, another one could have its id.
            self._segments[id(jaxpr)] = jaxpr, Segments(jaxpr)
        return self._segments[id(jaxpr)][1]

    def window(
        self, step: control.DrivenStep, loop: control.DrivenLoop, shardings: object, *, donate: bool
    ) -> Any:
        """Return a window of a loop as a compiled function; see :func:`_window_function`."""
        key = (id(step), shardings, donate)
        if key not in self._windows:
            self._windows[key] = _window_function(step, loop, shardings, donate=donate)
        return self._windows[key]


def _window_function(
    step: control.DrivenStep, loop: control.DrivenLoop, shardings: Any, *, donate: bool
) -> Any:
    """Compile `(carried, constants, go on, start, count, blocks) -> (carried, go on, iterations that ran)`."""

    def iteration(index: Any, values: Sequence[Any], start: Any, blocks: Any, constants: Any) -> Any:
        # One row of each block, cut out on the device: no array is made for a single iteration.
        rows = [jax.lax.dynamic_index_in_dim(block, index, 0, keepdims=False) for block in blocks]
        return jaxprs.inline(step.jaxpr, [*values, start + index, *rows, *constants])

    def window(
        carried: object, constants: object, go_on: object, start: object, count: object, blocks: object
    ) -> Any:
        if loop.test is None:
            new = jax.lax.fori_loop(
                0, count, lambda i, values: iteration(i, values, start, blocks, constants), carried
            )
            return new, go_on, count

        def test(state: PyTree) -> Any:
            # The test of the loop was computed with the last iteration; the bound is that of the elements at
            # hand.
            return jnp.logical_and(state[1], state[0] < count)

        def body(state: PyTree) -> Any:
            *values, go = iteration(state[0], state[2], start, blocks, constants)
            return state[0] + 1, go, values

        ran, go_on, new = jax.lax.while_loop(test, body, (jnp.zeros((), jnp.int32), go_on, carried))
        return new, go_on, ran

    outputs = None if shardings is None else ([*shardings[0]], shardings[1], shardings[1])
    # Without `out_shardings`, results could be placed otherwise than `carried`, and the second window be compiled
    # again.
    found = [loop.variables.get(position) for position in range(len(loop.results))]
    carried = [each.variable if isinstance(each, regions.Spread) else each for each in found]
    return regions.jit(
        window,
        name=step.jaxpr.jaxpr.debug_info.func_name,
        donated=(0,) if donate else (),
        variables={0: carried},
        is_window=True,
        out_shardings=outputs,
        **options_of(carried, None if shardings is None else shardings[1]),
    )
