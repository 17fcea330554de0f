"""Gradients of what a function that is being traced has computed already, as `tf.gradients` (core layer).

JAX notes how each traced value comes about. What lies between the sources and the targets is computed once more, as a
function of what is added to the sources, and differentiated; the compiler finds that the values are there already.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from stratax.core.gradients._tape_trace import pull_back
from stratax.seams.jax import TracedOperation, identity_of, operation_of


def trace_gradients(
    targets: Sequence[Any], sources: Sequence[Any], given: Sequence[Any], stopped: Sequence[Any]
) -> list[Any]:
    """Return the gradients of the sum of targets with respect to sources; None where they don't depend on one.

    Args:
        targets: Traced arrays.
        sources: Traced arrays.
        given: For each target the gradient from which it goes on; None for ones.
        stopped: Arrays that no gradient goes through. Those among the sources have gradients themselves.
    """
    path = _Path(targets, sources, stopped)
    reached = [
        (target, cotangent)
        for target, cotangent in zip(targets, given, strict=True)
        if path.is_on(target) and jnp.issubdtype(target.dtype, jnp.inexact)
    ]
    if not reached:
        return [None] * len(sources)
    wanted = [position for position, source in enumerate(sources) if path.is_used(source)]
    added = [jnp.zeros_like(sources[position]) for position in wanted]

    def compute(added: list[Any]) -> list[Any]:
        return path.values([target for target, _ in reached], [sources[i] for i in wanted], added)

    values, vjp = jax.vjp(compute, added)
    cotangents = [
        jnp.ones_like(value)
        if cotangent is None
        else jnp.broadcast_to(jnp.asarray(cotangent, value.dtype), value.shape)
        for value, (_, cotangent) in zip(values, reached, strict=True)
    ]
    found = dict(zip(wanted, pull_back(vjp, cotangents, [True] * len(wanted)), strict=True))
    return [found.get(position) for position in range(len(sources))]


class _Path:
    """The operations on the way from sources to targets.

    Args:
        targets: Where it ends.
        sources: Where it begins.
        stopped: Where it does not go through.
    """

    def __init__(self, targets: Sequence[Any], sources: Sequence[Any], stopped: Sequence[Any]) -> None:
        self._sources = {
            identity_of(source) for source in sources if jnp.issubdtype(source.dtype, jnp.inexact)
        }
        self._stopped = {identity_of(value) for value in stopped}
        self._operations: dict[int, TracedOperation | None] = {}
        # Values that depend on a source, in the order in which they are computed, by id.
        self._on: dict[int, Any] = {}
        self._used: set[int] = set()
        for target in targets:
            self._visit(target)

    def is_on(self, value: object) -> bool:
        """Return whether a value depends on a source."""
        return identity_of(value) in self._on

    def is_used(self, source: object) -> bool:
        """Return whether a target depends on a source."""
        return identity_of(source) in self._used

    def _visit(self, target: object) -> None:
        # Not recursive: programs have more operations than Python has levels.
        stack = [(target, False)]
        while stack:
            value, is_behind = stack.pop()
            key = identity_of(value)
            if is_behind:
                self._note(value)
            elif key not in self._operations:
                made = None if key in self._stopped else operation_of(value)
                self._operations[key] = made
                stack.append((value, True))
                stack += [(operand, False) for operand in (made.operands if made is not None else ())]

    def _note(self, value: object) -> None:
        made = self._operations[identity_of(value)]
        depends = made is not None and any(identity_of(operand) in self._on for operand in made.operands)
        if identity_of(value) in self._sources:
            self._used.add(identity_of(value))
            depends = True
        if depends:
            self._on[identity_of(value)] = value

    def values(self, targets: Sequence[Any], sources: Sequence[Any], added: Sequence[Any]) -> list[Any]:
        """Return the targets' values, with something added to sources."""
        more = {identity_of(source): each for source, each in zip(sources, added, strict=True)}
        env: dict[int, Any] = {}
        results: dict[int, Any] = {}
        for key, value in self._on.items():
            made = self._operations[key]
            found = value
            if made is not None and any(identity_of(operand) in env for operand in made.operands):
                # Computed once for all of its results.
                if made.number not in results:
                    operands = [env.get(identity_of(operand), operand) for operand in made.operands]
                    results[made.number] = made.primitive.bind(
                        *operands, **made.primitive.get_bind_params(made.params)
                    )
                found = results[made.number]
                found = found[made.position] if made.primitive.multiple_results else found
            env[key] = found + more[key] if key in more else found
        return [env[identity_of(target)] for target in targets]
