"""Combining the values of replicas that run as one program, outside of their functions (distribute layer)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.core import Function, regions
from stratax.distribute import input as distributed
from stratax.distribute import strategies
from stratax.distribute.replicas import (
    PerReplica,
    ReduceOp,
    UnevenPerReplica,
    check_axis,
    check_none,
    find_noted_place,
    gather,
    is_per_replica,
    specs_of,
)
from stratax.distribute.strategies._execution import OverMesh
from stratax.distribute.strategies._membership import InStep, StrategyMembership


class Combiner:
    """Reduces and gathers values that have a component on each device of a mesh.

    Args:
        execution: What runs the replicas.
        membership: Whose devices they are.
    """

    def __init__(self, execution: OverMesh, membership: StrategyMembership) -> None:
        self._execution = execution
        self._membership = membership
        # Values of many structures are reduced by one program text, so traces are no reason to warn.
        self._compiled_reduce = Function(self._reduce_in_program, autograph=False, traces_before_warning=0)
        self._compiled_gather = Function(self._gather_in_program, autograph=False, traces_before_warning=0)

    def reduce(self, op: ReduceOp, value: PyTree, axis: int | None) -> Any:
        """Combine components into one value; see `Strategy.reduce`."""
        in_program = regions.current_region() is not None
        # Of several workers, gather would tell; a reduction in every step must not wait for the others' shapes.
        if axis is not None and not in_program and not isinstance(self._membership, InStep):
            value = self._even(value, axis)
        check_none(jax.tree.leaves(value, is_leaf=is_per_replica), "strategy.reduce")
        for leaf in jax.tree.leaves(value, is_leaf=is_per_replica):
            self._check_reducible(op, leaf, axis)
        if in_program:
            return self._reduce_in_program(op, value, axis)
        return self._compiled_reduce(op, value, axis)

    def gather(self, value: PyTree, axis: int) -> Any:
        """Concatenate components along a dimension; see `Strategy.gather`."""
        in_program = regions.current_region() is not None
        if not in_program:
            value = self._even(value, axis)
        leaves = jax.tree.leaves(value, is_leaf=is_per_replica)
        check_none(leaves, "strategy.gather in a compiled function")
        for leaf in leaves:
            check_axis(axis, leaf.ndim if isinstance(leaf, PerReplica) else np.ndim(leaf))
        if any(map(distributed.is_text, leaves)):
            raise errors.BadTypeError(
                f"strategy.gather takes numbers, as in TensorFlow. Received: text in {shown(value)}. Look at it with "
                "strategy.experimental_local_results(value)."
            )
        # Other processes' shards can be read in a program only.
        if isinstance(self._membership, InStep) and not in_program:
            return self._compiled_gather(value, axis)
        return self._gather_in_program(value, axis)

    def _check_reducible(self, op: ReduceOp, leaf: Any, axis: Any) -> None:
        single = self._execution.num_replicas == 1
        if not isinstance(leaf, PerReplica) and not single and op is ReduceOp.SUM:
            raise errors.BadArgumentError(
                "strategy.reduce(SUM, ...) needs one value for each replica. Expected: what strategy.run returned. "
                f"Received: value={shown(leaf)}, which is not per replica. Return it from the function that run calls."
            )
        if axis is not None:
            check_axis(axis, leaf.ndim if isinstance(leaf, PerReplica) else np.ndim(leaf))

    def _reduce_in_program(self, op: ReduceOp, value: PyTree, axis: int | None) -> Any:
        return jax.tree.map(
            lambda leaf: self._execution.to_all(self._reduce_leaf(op, leaf, axis)),
            value,
            is_leaf=is_per_replica,
        )

    def _reduce_leaf(self, op: ReduceOp, leaf: object, axis: int | None) -> Any:
        place = find_noted_place(leaf)
        if not isinstance(leaf, PerReplica) or leaf.solo:
            array = jnp.asarray(leaf.array if isinstance(leaf, PerReplica) else leaf)
            if axis is None:
                return array if place is None else jax.lax.with_sharding_constraint(array, place)
            return jnp.sum(array, axis) if op is ReduceOp.SUM else jnp.mean(array, axis)
        # The leading dimension is sharded over the replicas, so this sum is a collective of XLA's.
        array = leaf.array
        if place is not None and axis is None:
            return strategies.sum_in_parts(op, array, place)
        dims = 0 if axis is None else (0, 1 + check_axis(axis, leaf.ndim))
        return jnp.sum(array, dims) if op is ReduceOp.SUM else jnp.mean(array, dims)

    def _even(self, value: PyTree, axis: int) -> Any:
        """Return a structure in which what has components of several sizes is gathered already, as one for all."""
        leaves, treedef = jax.tree.flatten(value, is_leaf=is_per_replica)
        found = [specs_of(leaf) for leaf in leaves]
        if isinstance(self._membership, InStep):
            # Of all workers: whether components are alike must be decided alike by all.
            found = self._membership.specs_of_all(found)
        elif not any(isinstance(leaf, UnevenPerReplica) for leaf in leaves):
            return value
        for index, specs in enumerate(found):
            if specs and any(spec != specs[0] for spec in specs):
                gathered = gather(leaves[index], specs, axis, self._execution.mesh, self._compiled_gather)
                leaves[index] = PerReplica(gathered, solo=True)
        return jax.tree.unflatten(treedef, leaves)

    def _gather_in_program(self, value: PyTree, axis: int) -> Any:
        return jax.tree.map(
            lambda leaf: self._execution.to_all(_gather(leaf, axis)), value, is_leaf=is_per_replica
        )


def _gather(leaf: object, axis: int) -> Any:
    """Join the components of a value one after another along a dimension."""
    if not isinstance(leaf, PerReplica):
        return jnp.asarray(leaf)
    if leaf.solo:
        return leaf.array
    dim = check_axis(axis, leaf.ndim)
    # The replicas come before the rows within each, as concatenation wants it.
    moved = jnp.moveaxis(leaf.array, 0, dim)
    shape = (*moved.shape[:dim], moved.shape[dim] * moved.shape[dim + 1], *moved.shape[dim + 2 :])
    return moved.reshape(shape)
