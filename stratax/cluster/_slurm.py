"""`SlurmClusterResolver`: the tasks of a Slurm step (cluster layer)."""

import itertools
import os
import re
from collections.abc import Iterator, Mapping

from stratax.base.shown import shown
from stratax.cluster._cluster_checks import check_cluster
from stratax.cluster._cluster_resolver import ListedClusterResolver
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.cluster._plan_checks import check_least, check_port
from stratax.errors import BadTypeError, ClusterError

_REPEATED = re.compile(r"(?P<count>[0-9]{1,6})(?:\(x(?P<times>[0-9]{1,6})\))?")
_BRACKETS = re.compile(r"\[(?P<ranges>[^\[\]]*)\]")
_RANGE = re.compile(r"(?P<first>[0-9]+)(?:-(?P<last>[0-9]+))?")
# Above any machine's number of nodes. A range such as [1-999999999] would fill the memory before anything
# else failed.
_MAX_HOSTS = 100_000


class SlurmClusterResolver(ListedClusterResolver):
    """Reads the tasks of a Slurm step, as ``tf.distribute.cluster_resolver.SlurmClusterResolver``.

    Start the program with ``srun``: task n of the step is process n. Tasks are laid on nodes block by block (Slurm's
    default). The tasks of one node get the ports from `port_base` on.

    Args:
        jobs: From a job's name to its number of tasks, in the order in which Slurm's tasks take them; None: all are
            workers.
        port_base: The port of a node's first task.
        gpus_per_node: The GPUs of a node; None: what Slurm says.
        gpus_per_task: The GPUs of a task; None: a node's, divided among its tasks.
        tasks_per_node: The tasks of a node, or of each node in order; None: what Slurm says.
        auto_set_gpu: Whether to set ``CUDA_VISIBLE_DEVICES`` so that each task of a node has GPUs of its own. Slurm
            often does so itself: what is set already stays.
        rpc_layer: The protocol that `master` puts before an address.

    Raises:
        ClusterError: If this is no Slurm step, or its variables and the arguments do not fit one another.
        BadArgumentError: If a number is out of range.
        BadTypeError: If an argument is of the wrong type.

    Example:
        >>> resolver = SlurmClusterResolver()  # doctest: +SKIP
        >>> resolver.cluster_spec()  # doctest: +SKIP
        ClusterSpec({'worker': ['node1:8888', 'node1:8889', 'node2:8888', 'node2:8889']})
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | list[int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str | None = "grpc",
    ) -> None:
        check_port("port_base", port_base)
        for name, value in {"gpus_per_node": gpus_per_node, "gpus_per_task": gpus_per_task}.items():
            check_least(name, 0 if value is None else value, 0)
        process = _integer("SLURM_PROCID")
        hosts = _hosts_of_tasks(tasks_per_node)
        self.rpc_layer = rpc_layer
        self._cluster, assigned = _assign(jobs or {"worker": len(hosts)}, _addresses(hosts, port_base))
        if process >= len(assigned):
            raise ClusterError(
                f"This step has {len(assigned)} tasks but this process says that it is another. "
                f"Received: SLURM_PROCID={process}."
            )
        self.task_type, self.task_id = assigned[process]
        if auto_set_gpu:
            _set_visible_gpus(process, hosts, gpus_per_node, gpus_per_task)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """Return this process's job and its number in it."""
        return self.task_type, self.task_id


def expand_hosts(names: str) -> list[str]:
    """Write out Slurm's short form of a list of hosts.

    Args:
        names: The short form, as in ``SLURM_JOB_NODELIST``.

    Returns:
        The hosts, in order.

    Raises:
        ClusterError: If it is not of that form.

    Example:
        >>> expand_hosts("login,n[1-2,08-10]-ib")
        ['login', 'n1-ib', 'n2-ib', 'n08-ib', 'n09-ib', 'n10-ib']
    """
    hosts = [host for part in _split(names) for host in _expand(part)]
    if not hosts or not all(hosts) or any(re.search(r"[\[\]\s]", host) for host in hosts):
        raise _bad_list(names)
    return hosts


def expand_counts(counts: str) -> list[int]:
    """Write out Slurm's short form of a number for each node.

    Args:
        counts: The short form, as in ``SLURM_TASKS_PER_NODE``.

    Returns:
        The number of each node, in order.

    Raises:
        ClusterError: If it is not of that form.

    Example:
        >>> expand_counts("4(x2),1")
        [4, 4, 1]
    """
    numbers: list[int] = []
    for part in counts.split(","):
        match = _REPEATED.fullmatch(part.strip())
        if match is None or int(match["times"] or 1) > _MAX_HOSTS:
            raise ClusterError(
                f"Slurm's tasks of each node must be given as in '4(x2),1'. Received: tasks_per_node={shown(counts)}."
            )
        numbers += [int(match["count"])] * int(match["times"] or 1)
    return numbers


def _split(names: str) -> list[str]:
    """Split at the commas that stand outside of brackets."""
    return re.split(r",(?![^\[\]]*\])", names)


def _expand(pattern: str) -> list[str]:
    match = _BRACKETS.search(pattern)
    if match is None:
        return [pattern]
    rest = _expand(pattern[match.end() :])
    # Ranges may stand in several brackets, as in "rack[1-2]node[1-4]": every combination is a host.
    heads = [
        pattern[: match.start()] + number for part in match["ranges"].split(",") for number in _count(part)
    ]
    if len(heads) * len(rest) > _MAX_HOSTS:
        raise _bad_list(pattern)
    return [head + tail for head in heads for tail in rest]


def _count(part: str) -> list[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise _bad_list(f"[{part}]")
    first, last = match["first"], match["last"] or match["first"]
    if not 0 <= int(last) - int(first) <= _MAX_HOSTS:
        raise _bad_list(f"[{part}]")
    # Slurm pads with zeros: node[01-10] begins with node01.
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]


def _bad_list(names: str) -> ClusterError:
    return ClusterError(
        f"Slurm's list of hosts must be given as in 'node[1-4,7],login'. Received: SLURM_JOB_NODELIST={shown(names)}."
    )


def _variable(*names: str) -> str:
    for name in names:
        if os.environ.get(name, "").strip():
            return os.environ[name].strip()
    raise ClusterError(
        "This process was not started by Slurm, or not as a step: start it with srun. "
        f"Received: none of {', '.join(names)} is set."
    )


def _integer(*names: str) -> int:
    value = _variable(*names)
    if not value.isdecimal():
        raise ClusterError(f"{names[0]} must be a number. Received: {names[0]}={shown(value)}.")
    return int(value)


def _gpus_on_node() -> int:
    return _integer("SLURM_GPUS_ON_NODE") if os.environ.get("SLURM_GPUS_ON_NODE", "").strip() else 0


def _hosts_of_tasks(tasks_per_node: int | list[int] | None) -> list[str]:
    """Return the host of every task, in the order of the tasks."""
    # The step's variables go before the job's, of which it may use a part.
    hosts = expand_hosts(_variable("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"))
    if tasks_per_node is None:
        counts = expand_counts(_variable("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"))
    elif isinstance(tasks_per_node, int):
        counts = [tasks_per_node] * len(hosts)
    else:
        counts = list(tasks_per_node)
    for count in counts:
        check_least("tasks_per_node", count, 1)
    if len(counts) != len(hosts):
        raise ClusterError(
            f"The tasks of each node must be given for {len(hosts)} nodes, {hosts}. "
            f"Received: tasks_per_node={shown(counts)}."
        )
    return [host for host, count in zip(hosts, counts, strict=True) for _ in range(count)]


def _addresses(hosts: list[str], port_base: int) -> list[str]:
    # Tasks of one node listen at one port each.
    ports: dict[str, Iterator[int]] = {host: itertools.count(port_base) for host in hosts}
    return [f"{host}:{next(ports[host])}" for host in hosts]


def _assign(jobs: Mapping[str, int], addresses: list[str]) -> tuple[ClusterSpec, list[tuple[str, int]]]:
    if not isinstance(jobs, Mapping):
        raise BadTypeError(
            f"jobs must be a dictionary from a job's name to its number of tasks. Received: jobs={shown(jobs)}."
        )
    for job, count in jobs.items():
        check_least(f"jobs[{job!r}]", count, 1)
    if sum(jobs.values()) != len(addresses):
        raise ClusterError(
            f"The step has {len(addresses)} tasks; the jobs must have as many together. Received: jobs={shown(jobs)}."
        )
    assigned = [(job, index) for job, count in jobs.items() for index in range(count)]
    tasks: dict[str, list[str]] = {job: [] for job in jobs}
    for (job, _), address in zip(assigned, addresses, strict=True):
        tasks[job].append(address)
    cluster = ClusterSpec(tasks)
    check_cluster(cluster)
    return cluster, assigned


def _set_visible_gpus(process: int, hosts: list[str], per_node: int | None, per_task: int | None) -> None:
    # Slurm with a GPU plugin has done so already.
    if os.environ.get("CUDA_VISIBLE_DEVICES") is not None and per_task is None:
        return
    here = hosts.count(hosts[process])
    node = _gpus_on_node() if per_node is None else per_node
    count = node // here if per_task is None else per_task
    local = hosts[:process].count(hosts[process])
    if count * here > node:
        raise ClusterError(
            f"A node with {node} GPUs has too few for {here} tasks of {count}. "
            f"Received: gpus_per_node={shown(per_node)}, gpus_per_task={shown(per_task)}."
        )
    if count:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(str(local * count + number) for number in range(count))
