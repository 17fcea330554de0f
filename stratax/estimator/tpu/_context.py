"""`params["context"]`: what an `input_fn` or `model_fn` may ask about the cores (estimator layer)."""

from stratax.distribute import InputContext, Strategy


class TPUContext:
    """What there is of hosts and cores, as TensorFlow's `TPUContext`.

    Args:
        strategy: The strategy that the estimator runs under.
        host: Which host asks.
        num_hosts: How many hosts there are.
    """

    def __init__(self, strategy: Strategy, host: int = 0, num_hosts: int = 1) -> None:
        self._num_replicas = strategy.num_replicas_in_sync
        self._host = host
        self._num_hosts = num_hosts

    @classmethod
    def of_input(cls, strategy: Strategy, context: InputContext) -> "TPUContext":
        """Return what the `input_fn` of one worker may ask."""
        return cls(strategy, context.input_pipeline_id, context.num_input_pipelines)

    @property
    def num_replicas(self) -> int:
        """How many cores compute together."""
        return self._num_replicas

    @property
    def num_hosts(self) -> int:
        """How many hosts they belong to."""
        return self._num_hosts

    @property
    def current_host(self) -> int:
        """The number of this host, from 0."""
        return self._host

    @property
    def num_of_replicas_per_host(self) -> int:
        """How many cores each host has."""
        return self._num_replicas // self._num_hosts

    def current_input_fn_deployment(self) -> tuple["TPUContext", int, int, int]:
        """Return this context, and which of how many calls of `input_fn` this is, and how many replicas it feeds."""
        return self, self._host, self._num_hosts, self.num_of_replicas_per_host
