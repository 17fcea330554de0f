"""How many shards a computation for TPUs has, as `tensorflow.python.tpu.tpu_function` tells (tf layer)."""

from stratax.distribute.replicas import get_replica_context


class TpuContext:
    """What `get_tpu_context` returns."""

    @property
    def number_of_shards(self) -> int | None:
        """How many replicas compute this together; None outside of replicas."""
        context = get_replica_context()
        return None if context is None else context.num_replicas_in_sync


def get_tpu_context() -> TpuContext:
    """Return what tells the number of shards."""
    return TpuContext()
