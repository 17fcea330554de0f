"""`TFConfigClusterResolver`: the cluster that TF_CONFIG describes (cluster layer)."""

import os

from stratax.cluster._cluster_resolver import ListedClusterResolver
from stratax.cluster._exit import end_with_the_code_of_errors
from stratax.cluster._tf_config import ENVIRONMENT_VARIABLE, parse_tf_config


class TFConfigClusterResolver(ListedClusterResolver):
    """Reads TF_CONFIG, as ``tf.distribute.cluster_resolver.TFConfigClusterResolver``.

    TF_CONFIG is read once, here; without it this process is alone. Jobs, addresses and the task are checked by what
    connects. The arguments, where given, win over what TF_CONFIG says.

    Args:
        task_type: This process's job.
        task_id: Its number.
        rpc_layer: The protocol that `master` puts before an address; none if neither says anything.
        environment: Where the program runs; for the record. What TF_CONFIG says of it is in `tf_config`.

    Attributes:
        tf_config: All that TF_CONFIG says.

    Raises:
        ClusterError: If TF_CONFIG can't be read; the message names the field.

    Example:
        >>> TFConfigClusterResolver().cluster_spec()
        ClusterSpec({})
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        self._text = os.environ.get(ENVIRONMENT_VARIABLE, "")
        if self._text:
            # Only where TF_CONFIG is set: a launcher or scheduler reads the code then.
            end_with_the_code_of_errors()
        self.tf_config = config = parse_tf_config(self._text)
        self._cluster = config.cluster
        self.task_type = config.task_type if task_type is None else task_type
        self.task_id = config.task_id if task_id is None else int(task_id)
        self.rpc_layer = rpc_layer or config.rpc_layer
        self.environment = environment

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return where TF_CONFIG says that sessions are, or a task's address; empty for the only task of a cluster."""
        if self.tf_config.session_master is not None:
            return self.tf_config.session_master
        is_only = sum(self._cluster.num_tasks(job) for job in self._cluster.jobs) == 1
        return "" if is_only else super().master(task_type, task_id, rpc_layer)

    @property
    def has_changed(self) -> bool:
        """Whether TF_CONFIG is another one now than when it was read: then what this resolver says is out of date."""
        return os.environ.get(ENVIRONMENT_VARIABLE, "") != self._text
