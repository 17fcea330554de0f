"""Which tasks work together step by step, and what number each has (cluster layer)."""

import dataclasses
import json
import os
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._secret import Credentials, read_credentials

# An environment variable that is equal in all tasks of one start of a job and differs from any other's. A launcher
# sets it, so that a task which is left over from before a restart can't be taken for one of the new ones.
JOB_ID_VARIABLE = "STRATAX_JOB_ID"

# The jobs whose tasks compute together; the others (`ps`, `evaluator`) do not take part in collectives.
SYNCHRONOUS_JOBS = ("chief", "worker")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Membership:
    """The tasks that compute together, and which of them this process is.

    Attributes:
        cluster: The whole cluster.
        names: Every task's name, for example ``"/job:worker/task:1"``, by the number of its process.
        addresses: Their addresses, in the same order.
        index: This process's number; 0 is the chief, or the first worker where there is none.
        credentials: What this task shows that it belongs to the cluster.
        job_id: What tells this start of the job from any other; may be empty.
    """

    cluster: ClusterSpec
    names: tuple[str, ...]
    addresses: tuple[str, ...]
    index: int
    credentials: Credentials
    job_id: str = ""

    @property
    def name(self) -> str:
        """The name of this task."""
        return self.names[self.index]

    @property
    def coordinator_address(self) -> tuple[str, int]:
        """The host and port at which the tasks meet: those of process 0."""
        return host_and_port(self.addresses[0])

    def introduction(self) -> dict[str, object]:
        """Return what this task says first over a connection whose other end belongs to the cluster."""
        return {
            "index": self.index,
            "name": self.name,
            "job": self.job_id,
            "cluster": self.cluster.as_dict(),
            "fingerprint": self.cluster.fingerprint(),
        }


def make_membership(cluster: ClusterSpec, task_type: str, task_id: int) -> Membership:
    """Number the tasks that compute together.

    Args:
        cluster: The cluster, checked.
        task_type: This process's job: one of `SYNCHRONOUS_JOBS`.
        task_id: Its number in the job.

    Returns:
        The membership: the chief is first, then the workers in order.

    Raises:
        ClusterError: If the cluster's secret can't be read.
    """
    job_id = os.environ.get(JOB_ID_VARIABLE, "")
    # The chief first: in this order tasks are processes of JAX, and process 0 is the coordinator.
    tasks = [
        (job, index) for job in SYNCHRONOUS_JOBS if job in cluster.jobs for index in cluster.task_indices(job)
    ]
    return Membership(
        cluster=cluster,
        names=tuple(task_name(job, index) for job, index in tasks),
        addresses=tuple(cluster.task_address(job, index) for job, index in tasks),
        index=tasks.index((task_type, task_id)),
        credentials=credentials(cluster),
        job_id=job_id,
    )


def credentials(cluster: ClusterSpec) -> Credentials:
    """Return what this task shows the others, whatever its job.

    Args:
        cluster: The cluster.

    Raises:
        ClusterError: If the cluster's secret can't be read.
    """
    return read_credentials(cluster, os.environ.get(JOB_ID_VARIABLE, ""))


def task_name(job: str, index: int) -> str:
    """Return a task's name, for example ``/job:worker/task:1``."""
    return f"/job:{job}/task:{index}"


def host_and_port(address: str) -> tuple[str, int]:
    """Take an address apart.

    Args:
        address: ``host:port``; an IPv6 host stands in brackets.
    """
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def difference(mine: dict[str, Any], theirs: object) -> str:
    """Say where two clusters differ.

    Args:
        mine: One cluster, as `ClusterSpec.as_dict` gives it.
        theirs: What another task says that its cluster is.

    Returns:
        The first field that differs and both its values, for example ``cluster.worker: ['a:1'] and ['b:1']``.
    """
    # As it is written in a message, where the numbers of tasks become text.
    mine = json.loads(json.dumps(mine))
    if isinstance(theirs, dict):
        for job in dict.fromkeys([*mine, *theirs]):
            if mine.get(job) != theirs.get(job):
                return f"cluster.{job}: {shown(mine.get(job))} and {shown(theirs.get(job))}"
    return f"cluster: {shown(mine)} and {shown(theirs)}"
