"""Blocks of steps as one program: K steps in one dispatch (engine layer)."""

import functools
from collections.abc import Callable, Collection
from typing import Any

import jax
import jax.numpy as jnp

from stratax.base.typing import PyTree
from stratax.core import control
from stratax.distribute import Strategy
from stratax.distribute.replicas import PerReplica, StepsPerReplica, is_per_replica, own_step
from stratax.distribute.strategies import InStep

Step = Callable[[Any], Any]
_NUM_DIMS_BEFORE_ROW = 2  # Replicas and steps.


def update_block(
    strategy: Strategy, step: Step, results: Callable[[], Any], steps: int, element: PyTree
) -> Any:
    """Run training or evaluation steps and return what the last one gives, traced as one program.

    Args:
        strategy: The strategy.
        step: What one replica does with its part of a batch.
        results: Gives what the block returns where the steps return None: of state that they have updated.
        steps: How many steps.
        element: Their batches: one, or, if there are several, stacked on a leading dimension.

    Returns:
        What the last step returned, averaged over the replicas, or `results()` after it.
    """
    own = _on_replicas(strategy, step, element, steps)
    # The step returns nothing: what its metrics hold is asked for behind all steps.
    if own is None:
        return results()
    return jax.tree.map(
        lambda leaf: strategy.extended.execution.to_all(_mean(leaf)), own, is_leaf=is_per_replica
    )


def each_step_block(
    strategy: Strategy, step: Step, steps: int, element: PyTree, *, of_first: Collection[str] = ()
) -> Any:
    """Run steps and return what each of them gives, averaged over the replicas, traced as one program.

    Args:
        strategy: The strategy.
        step: What one replica does with its part of a batch.
        steps: How many steps.
        element: Their batches.
        of_first: The keys of what the steps return, a dict then, that are taken from the first replica.

    Returns:
        A structure of arrays whose first dimension counts steps.
    """
    outputs = _on_replicas(strategy, step, element, steps, keep=True)

    def stack(combine: Callable[[Any], Any], output: object) -> Any:
        combined = jnp.asarray(combine(output))
        return strategy.extended.execution.to_all(combined[None] if steps == 1 else combined)

    if not of_first:
        return jax.tree.map(functools.partial(stack, _mean), outputs, is_leaf=is_per_replica)
    return {
        key: jax.tree.map(
            functools.partial(stack, _first if key in of_first else _mean), output, is_leaf=is_per_replica
        )
        for key, output in outputs.items()
    }


def predict_block(
    strategy: Strategy, step: Step, steps: int, element: PyTree, *, of_first: Collection[str] = ()
) -> Any:
    """Run prediction steps and return the outputs of all examples, in order, traced as one program.

    Args:
        strategy: The strategy.
        step: What one replica does with its part of a batch.
        steps: How many steps.
        element: Their batches.
        of_first: The keys of what the steps return, a dict then, that are the first replica's; each with a leading
            dimension that counts steps.

    Returns:
        A structure of arrays whose first dimension counts examples; of `StepsPerReplica` where each replica keeps its
        own rows of several steps, which :func:`stratax.engine._rows.as_rows` puts in order.
    """
    outputs = _on_replicas(strategy, step, element, steps, keep=True)
    to_all = strategy.extended.execution.to_all
    # A process reads its own devices only, so that rows of several have to travel anyway.
    may_keep = steps > 1 and not isinstance(strategy.extended.membership, InStep)

    def rows(leaf: Any) -> Any:
        if may_keep and is_per_replica(leaf) and not leaf.solo and leaf.array.ndim > _NUM_DIMS_BEFORE_ROW:
            return StepsPerReplica(jnp.moveaxis(leaf.array, 0, 1))
        return to_all(_in_order(leaf, steps))

    def in_order(output: object) -> Any:
        return jax.tree.map(rows, output, is_leaf=is_per_replica)

    def first(output: object) -> Any:
        combined = jnp.asarray(_first(output))
        return to_all(combined[None] if steps == 1 else combined)

    if not of_first:
        return in_order(outputs)
    return {
        key: jax.tree.map(first, output, is_leaf=is_per_replica) if key in of_first else in_order(output)
        for key, output in outputs.items()
    }


def _on_replicas(strategy: Strategy, step: Step, element: PyTree, steps: int, *, keep: bool = False) -> Any:
    """Return what a step that is written for one device gives on each replica, with gradients averaged over them.

    Of several steps it is what the last one gives, or, with `keep`, what all give, stacked behind the replicas.
    """

    def on_each(function: Step, argument: object) -> Any:
        return strategy.extended.execution.call_for_each_replica(
            function, (argument,), {}, averages_gradients=True
        )

    if steps == 1 or not strategy.extended.placement.divides:
        return on_each(_repeat_step(step, steps, keep=keep), _by_replica(element, steps))
    # The loop is around the replicas: each step has to gather what the one before it has updated in parts.
    outputs = control.for_rows(element, functools.partial(on_each, step), keep=keep)
    return jax.tree.map(_behind_replicas, outputs, is_leaf=is_per_replica) if keep else outputs


def _behind_replicas(output: Any) -> Any:
    """Return what replicas gave in several steps with the steps behind the replicas."""
    is_divided = is_per_replica(output) and not output.solo
    return PerReplica(jnp.moveaxis(output.array, 0, 1)) if is_divided else output


def _by_replica(element: PyTree, steps: int) -> Any:
    """Return stacked batches as what `run` splits among the replicas."""
    if steps == 1:
        return element

    def of_steps(leaf: Any) -> Any:
        return StepsPerReplica(leaf.array) if is_per_replica(leaf) and not leaf.solo else leaf

    return jax.tree.map(of_steps, element, is_leaf=is_per_replica)


def _in_order(output: Any, steps: int) -> Any:
    """Return replicas' outputs as the outputs of the examples in their order."""
    if not is_per_replica(output):
        return output.reshape(-1, *output.shape[2:]) if steps > 1 else output
    array = output.array
    if output.solo:
        return array.reshape(-1, *array.shape[2:]) if steps > 1 else array
    if steps > 1:
        array = jnp.moveaxis(array, 0, 1)
        return array.reshape(-1, *array.shape[3:])
    return array.reshape(-1, *array.shape[2:])


def _mean(value: Any) -> Any:
    if not is_per_replica(value):
        return value
    return value.array if value.solo else jnp.mean(value.array, 0)


def _first(value: Any) -> Any:
    if not is_per_replica(value):
        return value
    return value.array if value.solo else value.array[0]


def _repeat_step(step: Step, steps: int, *, keep: bool = False) -> Step:
    """Repeat a step for several stacked batches: one loop; the last result, or, with `keep`, all of them stacked."""
    if steps == 1:
        return step

    def each(row: object) -> Any:
        return step(jax.tree.map(own_step, row, is_leaf=is_per_replica))

    return lambda stacked: control.for_rows(stacked, each, keep=keep)
