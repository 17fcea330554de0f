"""`params["context"]`: what an `input_fn` or `model_fn` may ask about the cores (estimator layer)."""

import dataclasses
from collections.abc import Callable

from stratax import errors
from stratax.distribute import Strategy


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    """One call of an `input_fn`.

    Attributes:
        host: The number of the host that it runs on.
        index: Which call it is.
        count: How many calls there are, on all hosts.
        replicas: How many cores it feeds.
    """

    host: int
    index: int
    count: int
    replicas: int


class TPUContext:
    """What there is of hosts and cores, as TensorFlow's `TPUContext`.

    Args:
        strategy: The strategy that the estimator runs under.
        deployment: Which call of `input_fn` asks; None for a `model_fn`.
    """

    def __init__(self, strategy: Strategy, deployment: Deployment | None = None) -> None:
        self._num_replicas = strategy.num_replicas_in_sync
        self._num_hosts = strategy.extended.membership.share.processes
        self._deployment = deployment

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
        """The number of this host, from 0; in an `input_fn`."""
        return self._of_input_fn("current_host").host

    @property
    def num_of_replicas_per_host(self) -> int:
        """How many cores each host has."""
        return self._num_replicas // self._num_hosts

    @property
    def device_assignment(self) -> None:
        """None: each core has a replica of the model. In a `model_fn`."""
        if self._deployment is not None:
            raise errors.ModelScopeError(
                "device_assignment is for a model_fn. Received: the context of an input_fn. Ask params['context'] of "
                "the model_fn."
            )

    def current_input_fn_deployment(self) -> tuple[str, int, int, int]:
        """Return the host's name, which of how many calls of `input_fn` this is, and how many cores it feeds."""
        found = self._of_input_fn("current_input_fn_deployment")
        return _host(found.host), found.index, found.count, found.replicas

    def device_for_replica(self, replica_id: int) -> tuple[str, int]:
        """Return the name of a core's host, and the core's number there.

        Args:
            replica_id: The core's number among all.
        """
        host, ordinal = divmod(replica_id, self.num_of_replicas_per_host)
        return _host(host), ordinal

    @property
    def tpu_host_placement_function(self) -> Callable[[int], str]:
        """Gives the name of a host by its number."""
        return _host

    def _of_input_fn(self, name: str) -> Deployment:
        if self._deployment is None:
            raise errors.ModelScopeError(
                f"{name} is for an input_fn. Received: the context of a model_fn. Ask params['context'] of the "
                "input_fn."
            )
        return self._deployment


def _host(number: int) -> str:
    return f"/task:{number}/device:CPU:0"
