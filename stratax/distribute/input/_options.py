"""What programs say about distributed input, and are told about it (distribute layer)."""

import dataclasses
from typing import Any

from stratax import errors
from stratax.base.shown import shown


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class InputContext:
    """Says what a dataset function knows about where its dataset will be used. Follows `tf.distribute.InputContext`.

    Attributes:
        num_input_pipelines: How many pipelines feed the cluster.
        input_pipeline_id: The number of this one.
        num_replicas_in_sync: How many replicas the input is for.
    """

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return the examples of one replica in a global batch.

        Raises:
            BadArgumentError: If the batch does not divide among the replicas.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise errors.BadArgumentError(
                f"The global batch does not divide among the replicas. Expected: a multiple of "
                f"{self.num_replicas_in_sync}. Received: global_batch_size={shown(global_batch_size)}."
            )
        return global_batch_size // self.num_replicas_in_sync


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ValueContext:
    """Says which replica a value is made for. Follows `tf.distribute.experimental.ValueContext`.

    Attributes:
        replica_id_in_sync_group: The replica's number.
        num_replicas_in_sync: How many there are.
    """

    replica_id_in_sync_group: int = 0
    num_replicas_in_sync: int = 1


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class InputOptions:
    """Says how distributed input is fetched. Follows `tf.distribute.InputOptions`.

    Attributes:
        experimental_fetch_to_device: Whether elements are put on the replicas' devices (True, the default) or left
            on the host as NumPy arrays, of which each `PerReplica` holds all components.
        experimental_replication_mode: Accepted for TensorFlow's signature.
        experimental_place_dataset_on_device: Not available: datasets run on the host.
        experimental_per_replica_buffer_size: How many blocks are read ahead in the background where the source is slow.
    """

    experimental_fetch_to_device: bool | None = None
    experimental_replication_mode: Any = None
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 2

    def __post_init__(self) -> None:
        if self.experimental_place_dataset_on_device:
            raise errors.BadArgumentError(
                "experimental_place_dataset_on_device=True is not available: a dataset runs on the host and its "
                "elements are sent to the devices. Leave the option out."
            )
        if self.experimental_per_replica_buffer_size < 1:
            raise errors.BadArgumentError(
                "experimental_per_replica_buffer_size must be at least 1. Received: "
                f"experimental_per_replica_buffer_size={shown(self.experimental_per_replica_buffer_size)}."
            )
