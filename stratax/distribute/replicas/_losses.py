"""Averages over the global batch, for custom loops: TensorFlow's `tf.nn` helpers (distribute layer)."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.distribute.replicas import _contexts


def compute_average_loss(
    per_example_loss: object, sample_weight: TensorLike | None = None, global_batch_size: object = None
) -> Any:
    """Compute a replica's share of the mean loss of the global batch.

    Follows `tf.nn.compute_average_loss`: the sum of the replica's losses, divided by the *global* batch size.
    Summed over the replicas, as `apply_gradients` sums gradients, it is the mean over the whole batch.

    Args:
        per_example_loss: The losses of the replica's examples, shape `(examples, ...)`, floating point.
        sample_weight: Weights of the examples, of a shape that broadcasts.
        global_batch_size: The number of examples over all replicas; by default the number of this replica's
            times the number of replicas.

    Returns:
        A scalar.

    Raises:
        BadArgumentError: If `per_example_loss` is a scalar or `global_batch_size` is not positive.
        StrategyError: If called in the cross-replica context without `global_batch_size`.

    Example:
        >>> import stratax as sx
        >>> float(sx.distribute.compute_average_loss(jnp.array([1.0, 3.0]), global_batch_size=4))
        1.0
    """
    losses = jnp.asarray(per_example_loss)
    if losses.ndim == 0:
        raise errors.BadArgumentError(
            "compute_average_loss needs the loss of every example. Expected: an array of shape (examples, ...). "
            f"Received: per_example_loss={shown(per_example_loss)}, a scalar. Use a loss with `reduction='none'`."
        )
    if not jnp.issubdtype(losses.dtype, jnp.floating):
        # Sample weights get the dtype of the losses: integers would round them.
        losses = losses.astype(jnp.float32)
    if sample_weight is not None:
        weights = jnp.asarray(sample_weight, losses.dtype)
        # Weights of examples stretch over what each example's loss has besides, as in TensorFlow.
        losses = losses * weights.reshape(weights.shape + (1,) * (losses.ndim - weights.ndim))
    if global_batch_size is None:
        replica = _contexts.get_replica_context()
        if replica is None:
            raise errors.StrategyError(
                "compute_average_loss without global_batch_size has to know the replica it is called in. Expected: a "
                "call in a function that strategy.run calls. Pass global_batch_size."
            )
        # All replicas have batches of one size: a remainder is computed by one that stands for all.
        global_batch_size = losses.shape[0] * replica.num_replicas_in_sync
    elif isinstance(global_batch_size, (int, float, np.integer, np.floating)) and global_batch_size <= 0:
        raise errors.BadArgumentError(
            f"global_batch_size must be positive. Received: global_batch_size={shown(global_batch_size)}."
        )
    return jnp.sum(losses) / jnp.asarray(global_batch_size, losses.dtype) * _weight_of_sums()


def scale_regularization_loss(regularization_loss: object) -> Any:
    """Scale a regularization loss to a replica's share, so that it counts once when gradients are summed.

    Follows `tf.nn.scale_regularization_loss`: the sum of the losses divided by the number of replicas.

    Args:
        regularization_loss: A scalar, an array, or a list of them.

    Returns:
        A scalar.

    Raises:
        StrategyError: If called in the cross-replica context.
    """
    replica = _contexts.get_replica_context()
    if replica is None:
        raise errors.StrategyError(
            "scale_regularization_loss divides by the number of replicas. Expected: a call in a function that "
            "strategy.run calls. Outside of it, the loss needs no scaling."
        )
    losses = regularization_loss if isinstance(regularization_loss, (list, tuple)) else [regularization_loss]
    return sum(jnp.sum(jnp.asarray(loss)) for loss in losses) / replica.num_contributions


def _weight_of_sums() -> int:
    """Return what a share of a sum is multiplied by where the replicas' gradients are averaged, not summed."""
    replica = _contexts.syncing_replicas()
    return 1 if replica is None else replica.num_replicas_in_sync // replica.num_contributions
