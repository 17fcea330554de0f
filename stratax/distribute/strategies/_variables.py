"""Variables among the values that a strategy combines, or shows replica by replica (distribute layer)."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import keras

from stratax.base.typing import PyTree
from stratax.distribute.replicas import (
    PerReplica,
    in_replica,
    is_on_read,
    is_per_replica,
    parts_on,
    values_of_replicas,
)
from stratax.distribute.strategies import _ownership
from stratax.distribute.strategies._execution import OverMesh

if TYPE_CHECKING:
    from stratax.distribute.strategies._strategy import Strategy


def with_own_values(strategy: "Strategy", value: PyTree) -> PyTree:
    """Return a structure with a `PerReplica` in the place of variables that are synchronized on read.

    All other variables are one value for all replicas, as for TensorFlow.
    """
    return _map(strategy, value, only_on_read=True)


def with_copies(strategy: "Strategy", value: PyTree) -> PyTree:
    """Return a structure with a `PerReplica` in the place of all variables that replicas have copies of."""
    return _map(strategy, value, only_on_read=False)


def _map(strategy: "Strategy", value: PyTree, *, only_on_read: bool) -> PyTree:
    execution = strategy.extended.execution
    has_copies = strategy.extended.placement.keeps_copies and strategy.num_replicas_in_sync > 1
    # In a replica a variable is the replica's own value.
    if not (isinstance(execution, OverMesh) and has_copies) or in_replica():
        return value

    def per_replica(leaf: object) -> Any:
        if not isinstance(leaf, keras.Variable) or _ownership.owner(leaf) is not strategy:
            return leaf
        if is_on_read(leaf) or (parts_on(leaf, execution.mesh) is not None and not only_on_read):
            return values_of_replicas(leaf, execution.mesh)
        return leaf if only_on_read else PerReplica(jnp.stack([leaf.value] * strategy.num_replicas_in_sync))

    return jax.tree.map(per_replica, value, is_leaf=is_per_replica)
