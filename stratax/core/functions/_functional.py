"""Conditions and loops that are written as functions, as `tf.cond` and `tf.while_loop` are (core layer).

They become what `if` and `while` of a converted function become. Outside of compiled functions, in a transformation of
JAX's own (`jax.jit`, `jax.vmap`), they are JAX's conditions and loops.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax.core import autograph, control, regions, storage


def choose(predicate: object, if_true: Callable[[], Any], if_false: Callable[[], Any]) -> Any:
    """Return what one of two functions gives, in the program that is being traced.

    Args:
        predicate: A traced scalar.
        if_true: Returns a structure of arrays.
        if_false: Returns another, of the same structure, shapes and dtypes.
    """
    if regions.current_region() is None:
        return jax.lax.cond(control.as_predicate(predicate, "cond"), if_true, if_false)
    return control.if_exp(predicate, autograph.convert(if_true), autograph.convert(if_false), "predicate")


def repeat(
    test: Callable[[Any], Any], body: Callable[[Any], Any], state: object, limit: int | None = None
) -> Any:
    """Return a state after `state = body(state)` as long as `test(state)` holds, in the program that is being traced.

    Args:
        test: Returns a scalar.
        body: Returns a state of the same structure, shapes and dtypes.
        state: A structure of arrays.
        limit: The largest number of iterations; None for any. With a limit the loop has a gradient.
    """
    if regions.current_region() is None:
        return _repeat_in_jax(test, body, state, limit)
    values = [state]

    def step(_: object = None) -> None:
        values[0] = body(values[0])

    def step_or_stay(_: object) -> None:
        before = values[0]
        values[0] = choose(go_on(), lambda: body(before), lambda: before)

    def go_on() -> Any:
        return control.as_predicate(test(values[0]), "while")

    def set_state(new: Sequence[Any]) -> None:
        values[:] = new

    state_of = (lambda: tuple(values), set_state, ("loop_vars",))
    if limit is not None and storage.read_listeners():
        # A tape records: a loop that may end early has no gradient, one that goes on doing nothing has.
        control.for_stmt(control.range(limit), None, step_or_stay, *state_of, {})
    elif limit != 0:
        control.while_loop(go_on, step, *state_of, limit)
    return values[0]


def _repeat_in_jax(
    test: Callable[[Any], Any], body: Callable[[Any], Any], state: object, limit: int | None
) -> Any:
    def go_on(counted: tuple[Any, Any]) -> Any:
        count, inner = counted
        more = control.as_predicate(test(inner), "while")
        return more if limit is None else jnp.logical_and(more, count < limit)

    def step(counted: tuple[Any, Any]) -> tuple[Any, Any]:
        count, inner = counted
        return count + 1, body(inner)

    return jax.lax.while_loop(go_on, step, (jnp.zeros((), jnp.int32), state))[1]
