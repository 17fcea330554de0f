"""`ClusterSpec`: the addresses of every job's tasks (cluster layer)."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError, ClusterError

# What a cluster can be given as: every job's addresses, as a list or by the tasks' numbers.
ClusterDict = Mapping[str, Sequence[str] | Mapping[int, str]]


class ClusterSpec:
    """The addresses of a cluster's tasks, by job, as ``tf.train.ClusterSpec``.

    A job's addresses are a list, or a dictionary from some of its tasks' numbers to their addresses where not all
    are known (a "sparse" job).

    Args:
        cluster: From a job's name to its addresses, or another `ClusterSpec`. TensorFlow's `ClusterDef` message is
            not taken.

    Raises:
        BadTypeError: If it, a job or an address has a wrong type.
        BadArgumentError: If a task's number is negative.

    Example:
        >>> spec = ClusterSpec({"worker": ["10.0.0.1:2222", "10.0.0.2:2222"], "ps": {3: "10.0.0.9:2222"}})
        >>> spec.num_tasks("worker"), spec.task_indices("ps"), spec.task_address("ps", 3)
        (2, [3], '10.0.0.9:2222')
    """

    def __init__(self, cluster: "ClusterDict | ClusterSpec") -> None:
        if isinstance(cluster, ClusterSpec):
            self._tasks: dict[str, dict[int, str]] = {
                job: dict(tasks) for job, tasks in cluster._tasks.items()
            }
            return
        if not isinstance(cluster, Mapping):
            raise BadTypeError(
                "A cluster must be a dictionary from a job's name to its addresses, or a ClusterSpec. "
                f"Received: cluster={shown(cluster)}."
            )
        self._tasks = {_job_name(job): _number(job, tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def as_dict(self) -> dict[str, list[str] | dict[int, str]]:
        """Return the cluster as a dictionary.

        Returns:
            From a job's name to the list of its addresses, or, where not all numbers from 0 are there, to a
            dictionary from number to address.
        """
        return {job: self._as_given(tasks) for job, tasks in self._tasks.items()}

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks of a job are known.

        Args:
            job_name: The job.

        Raises:
            ClusterError: If there is no such job.
        """
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks, in order.

        Args:
            job_name: The job.

        Raises:
            ClusterError: If there is no such job.
        """
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task.

        Args:
            job_name: The task's job.
            task_index: Its number.

        Raises:
            ClusterError: If there is no such job or task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ClusterError(
                f"The job {shown(job_name)} has no task of this number; it has {sorted(tasks)}. "
                f"Received: task_index={shown(task_index)}."
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return a job's addresses by number, None where a task is not known.

        Args:
            job_name: The job.

        Raises:
            ClusterError: If there is no such job.
        """
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

    def fingerprint(self) -> str:
        """Return a short text that is equal for equal clusters; tasks compare it before they work together."""
        # Sorted, so that the order in which a task's environment lists jobs does not matter.
        text = json.dumps({job: sorted(tasks.items()) for job, tasks in self._tasks.items()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            try:
                other = ClusterSpec(other)
            except (BadTypeError, BadArgumentError):
                return False
        return self._tasks == other._tasks if isinstance(other, ClusterSpec) else NotImplemented

    def __hash__(self) -> int:
        # Equal to a plain dictionary too, which has no hash: only specs meet in a set.
        return hash(self.fingerprint())

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._tasks:
            raise ClusterError(
                f"The cluster has no such job; it has {self.jobs}. Received: job_name={shown(name)}."
            )
        return self._tasks[name]

    @staticmethod
    def _as_given(tasks: dict[int, str]) -> list[str] | dict[int, str]:
        if sorted(tasks) == list(range(len(tasks))):
            return [tasks[index] for index in range(len(tasks))]
        return dict(sorted(tasks.items()))


def _job_name(job: object) -> str:
    if not isinstance(job, str):
        raise BadTypeError(f"A job's name must be a string. Received: job={shown(job)}.")
    return job


def _number(job: str, tasks: object) -> dict[int, str]:
    # A string is a sequence, whose characters would be taken for addresses.
    if isinstance(tasks, str) or not isinstance(tasks, Mapping | Sequence):
        raise BadTypeError(
            f"The tasks of job {shown(job)} must be a list of addresses, or a dictionary from number to address. "
            f"Received: {job}={shown(tasks)}."
        )
    items = tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks)
    return dict(_task(job, index, address) for index, address in items)


def _task(job: str, index: object, address: object) -> tuple[int, str]:
    # As they come from JSON, whose keys are strings.
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    # `True` is an int to Python.
    if isinstance(index, bool) or not isinstance(index, int):
        raise BadTypeError(
            f"A task's number must be an int. Received: {job}={{{shown(index)}: {shown(address)}}}."
        )
    if index < 0:
        raise BadArgumentError(
            f"A task's number must be 0 or more. Received: {job}={{{shown(index)}: {shown(address)}}}."
        )
    if not isinstance(address, str):
        raise BadTypeError(f"A task's address must be a string. Received: {job}[{index}]={shown(address)}.")
    return index, address
