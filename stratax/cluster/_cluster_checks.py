"""Whether a cluster, and a task of it, can be right, wherever they were described (cluster layer)."""

import difflib
import re

from stratax.base.shown import shown
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

# The jobs that a cluster can have.
JOBS = ("chief", "worker", "ps", "evaluator")

_EXPECTED = (
    "Expected something like "
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}.'
)

_MAX_PORT = 65535
_PORT = re.compile(r"[0-9]{1,5}")


def wrong(problem: str, field: str, value: object, hint: str = "") -> ClusterError:
    """Return the error of a mistake in the description of a cluster.

    Args:
        problem: What is wrong, without a full stop.
        field: Where it stands, for example ``cluster.worker[0]``.
        value: What stands there.
        hint: A sentence on how to mend it.
    """
    return ClusterError(f"{problem}.{hint and ' ' + hint} Received: {field}={shown(value)}.")


def check_cluster(cluster: ClusterSpec) -> None:
    """Check the jobs and addresses of a cluster, wherever it came from.

    Args:
        cluster: The cluster.

    Raises:
        ClusterError: If a job is unknown or empty, an address is none, or two tasks have the same one.
    """
    _check_jobs(cluster, JOBS)
    for job in cluster.jobs:
        for index in cluster.task_indices(job):
            _check_address(f"cluster.{job}[{index}]", cluster.task_address(job, index))
    _check_unique(cluster)


def check_place(
    cluster: ClusterSpec, task_type: str | None, task_id: int | None, *, others: bool = False
) -> None:
    """Check a cluster's jobs, and which of its tasks a process is.

    Args:
        cluster: The cluster; empty for a process that is alone.
        task_type: The process's job.
        task_id: Its number.
        others: Whether there may be jobs of which nobody knows what they do.

    Raises:
        ClusterError: If a job is unknown or empty, or there is no such task.
    """
    jobs = (*JOBS, *cluster.jobs) if others else JOBS
    _check_jobs(cluster, jobs)
    task = None if task_type is None and task_id is None else {"type": task_type, "index": task_id}
    if not cluster:
        if task_id or task_type not in (None, *JOBS):
            raise wrong("there is a task but no cluster that it belongs to", "task", task, _EXPECTED)
        return
    if task is None:
        raise wrong("task is missing, so this process can't know which task it is", "task", task, _EXPECTED)
    if task_type is None:
        raise wrong("task.type is missing", "task", task)
    if task_id is None:
        raise wrong("task.index is missing", "task", task)
    check_task(cluster, task_type, task_id, jobs)


def check_task(cluster: ClusterSpec, task_type: str, task_id: int, jobs: tuple[str, ...] = JOBS) -> None:
    """Check that a task is one of a cluster's.

    Args:
        cluster: The cluster, checked.
        task_type: The task's job.
        task_id: Its number.
        jobs: The jobs that there can be.

    Raises:
        ClusterError: If it is not.
    """
    if task_type not in jobs:
        raise wrong(
            f"task.type must be one of {_list_names(tuple(dict.fromkeys(jobs)))}", "task.type", task_type
        )
    if task_type == "evaluator" and task_type not in cluster.jobs:
        return
    if task_type not in cluster.jobs:
        raise wrong(_missing_job(cluster, task_type), "task.type", task_type)
    if task_id not in cluster.task_indices(task_type):
        numbers = cluster.task_indices(task_type)
        raise wrong(
            f"task.index is out of range: cluster.{task_type} has {len(numbers)} task(s), numbers {numbers}",
            "task.index",
            task_id,
        )


def check_jobs(cluster: ClusterSpec, allowed: tuple[str, ...], user: str) -> None:
    """Check that a cluster has only jobs that a strategy can use.

    Args:
        cluster: The cluster.
        allowed: The jobs that the strategy has a use for.
        user: The strategy's name, for the message.

    Raises:
        ClusterError: If the cluster has another job, for example `ps` with a strategy without parameter servers.
    """
    for job in cluster.jobs:
        if job not in allowed:
            hint = " Use ParameterServerStrategy, or take ps out of the cluster." if job == "ps" else ""
            raise ClusterError(
                f"{user} has no use for the job {shown(job)} of the cluster; it takes {_list_names(allowed)}.{hint} "
                f"Received: cluster.{job}={shown(cluster.job_tasks(job))}."
            )


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)


def _check_jobs(cluster: ClusterSpec, jobs: tuple[str, ...]) -> None:
    for job in cluster.jobs:
        _check_job(job, cluster, jobs)
    if cluster and not {"chief", "worker"} & set(cluster.jobs):
        raise wrong(
            "cluster has neither a chief nor a worker, so nobody would train", "cluster.jobs", cluster.jobs
        )


def _check_job(job: str, cluster: ClusterSpec, jobs: tuple[str, ...]) -> None:
    if job not in jobs:
        meant = difflib.get_close_matches(job.lower(), JOBS, n=1, cutoff=0.5)
        hint = f"{meant[0]!r} must be meant." if meant else ""
        raise wrong(f"cluster has an unknown job; the jobs are {_list_names(JOBS)}", "job", job, hint)
    if cluster.num_tasks(job) == 0:
        raise wrong(f"cluster.{job} is empty; leave out a job that has no tasks", f"cluster.{job}", [])
    if job == "chief" and cluster.task_indices(job) != [0]:
        raise wrong(
            "there is one chief, number 0; the others are workers",
            "cluster.chief",
            cluster.as_dict()["chief"],
        )


def _check_address(field: str, address: str) -> None:
    if "://" in address:
        raise wrong(f"{field} must be 'host:port' without a protocol before it", field, address)
    host, colon, port = address.rpartition(":")
    if not colon or (address.count(":") > 1 and not host.startswith("[")):
        raise wrong(
            f"{field} must be 'host:port', with IPv6 hosts in brackets; it has no port", field, address
        )
    if not host or re.search(r"\s", address):
        raise wrong(f"{field} must be 'host:port'; its host is empty or has a space", field, address)
    if not _can_be_a_name(host):
        raise wrong(f"the host of {field} can't be a name: it has an empty or too long part", field, address)
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= _MAX_PORT:
        raise wrong(f"the port of {field} must be a number from 1 to {_MAX_PORT}", field, address)


def _can_be_a_name(host: str) -> bool:
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _check_unique(cluster: ClusterSpec) -> None:
    seen: dict[str, str] = {}
    for job in cluster.jobs:
        for index in cluster.task_indices(job):
            field, address = f"cluster.{job}[{index}]", cluster.task_address(job, index)
            if address in seen:
                raise _duplicate(seen[address], field, address)
            seen[address] = field


def _duplicate(first: str, second: str, address: str) -> ClusterError:
    chief = "cluster.chief[0]" in (first, second)
    hint = "The chief is a task of its own and does not stand among the workers again." if chief else ""
    return wrong(f"{first} and {second} have the same address", second, address, hint)


def _missing_job(cluster: ClusterSpec, task_type: str) -> str:
    if task_type == "chief":
        return (
            "task.type is 'chief' but cluster has none; without one, worker 0 is the chief and says 'worker'"
        )
    return f"task.type is {shown(task_type)} but cluster has only {_list_names(tuple(cluster.jobs))}"
