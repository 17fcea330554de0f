"""Strategies as `tf.distribute.experimental` had them first (distribute layer)."""

from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import ClusterResolver
from stratax.distribute.collectives import CommunicationImplementation, CommunicationOptions
from stratax.distribute.strategies import _multi_worker


class MultiWorkerMirroredStrategy(_multi_worker.MultiWorkerMirroredStrategy):
    """Synchronous training on the devices of several processes, with the arguments of TensorFlow 2.0 to 2.3.

    Follows `tf.distribute.experimental.MultiWorkerMirroredStrategy`, which names how workers communicate first.
    Everything else is as in :class:`stratax.distribute.MultiWorkerMirroredStrategy`, which programs of today use.

    Args:
        communication: A :class:`stratax.distribute.CommunicationImplementation` (`CollectiveCommunication` then) or
            its name.
        cluster_resolver: A `ClusterResolver`; None: a `TFConfigClusterResolver`.

    Raises:
        BadArgumentError: If `communication` is unknown.

    Example:
        >>> import stratax.tf as tf
        >>> strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy(
        ...     tf.distribute.experimental.CollectiveCommunication.RING)
        >>> strategy.num_workers
        1
    """

    def __init__(
        self,
        communication: Any = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        if isinstance(communication, (ClusterResolver, CommunicationOptions)):
            raise errors.BadTypeError(
                "The first argument of experimental.MultiWorkerMirroredStrategy is `communication`, a "
                f"CollectiveCommunication. Received: communication={shown(communication)}. Use "
                "`tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver, communication_options)`."
            )
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))
