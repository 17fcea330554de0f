"""TF_CONFIG: what it says, and every way in which it can be wrong (cluster layer).

TF_CONFIG is checked as a whole before anything is started: each mistake has a sentence of its own that names the
field. `stratax` reads what TensorFlow reads; where TensorFlow ignores or guesses, the difference is an error here.
"""

import dataclasses
import difflib
import json
import logging
import re
from typing import Any

from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

ENVIRONMENT_VARIABLE = "TF_CONFIG"
"""The environment variable that describes a cluster and this process's place in it."""

JOBS = ("chief", "worker", "ps", "evaluator")
"""The jobs that a cluster can have."""

_FIELDS = (
    "cluster",
    "task",
    "rpc_layer",
    "environment",
    "session_master",
    "eval_session_master",
    "master",
    "service",
)
_EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, "task": {"type": "worker", "index": 0}}'
)
_PORT = re.compile(r"[0-9]+")
_MAX_PORT = 65535
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TFConfig:
    """What a TF_CONFIG says, checked.

    Attributes:
        cluster: Every job's addresses; empty where this process is alone.
        task_type: This process's job; None where this process is alone.
        task_id: Its number; None where this process is alone.
        rpc_layer: The protocol, or None.
        environment: The environment, or an empty string.
    """

    cluster: ClusterSpec
    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str = ""


def parse_tf_config(text: str) -> TFConfig:
    """Reads and checks a TF_CONFIG.

    Args:
        text: The JSON text; empty where there is none.

    Returns:
        What it says.

    Raises:
        ClusterError: If anything in it is wrong; the message names the field.

    Example:
        >>> config = parse_tf_config('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}')
        >>> config.task_type, config.task_id, config.cluster.num_tasks("worker")
        ('worker', 1, 2)
    """
    fields = _fields(text)
    cluster = _cluster(fields.get("cluster"))
    task_type, task_id = _task(fields, cluster)
    return TFConfig(
        cluster=cluster,
        task_type=task_type,
        task_id=task_id,
        rpc_layer=_text(fields, "rpc_layer"),
        environment=_text(fields, "environment") or "",
    )


def check_cluster(cluster: ClusterSpec) -> None:
    """Checks the jobs and addresses of a cluster, wherever it came from.

    Args:
        cluster: The cluster.

    Raises:
        ClusterError: If a job is unknown or empty, an address is none, or two tasks have the same one.
    """
    for job in cluster.jobs:
        _check_job(job, cluster)
        for index in cluster.task_indices(job):
            _check_address(f"cluster.{job}[{index}]", cluster.task_address(job, index))
    _check_unique(cluster)
    if cluster and not {"chief", "worker"} & set(cluster.jobs):
        raise _wrong(
            "cluster has neither a chief nor a worker, so nobody would train", "cluster.jobs", cluster.jobs
        )


def check_task(cluster: ClusterSpec, task_type: str, task_id: int) -> None:
    """Checks that a task is one of a cluster's.

    Args:
        cluster: The cluster, checked.
        task_type: The task's job.
        task_id: Its number.

    Raises:
        ClusterError: If it is not.
    """
    if task_type not in JOBS:
        raise _wrong(f"task.type must be one of {_listed(JOBS)}", "task.type", task_type)
    if task_type == "evaluator" and task_type not in cluster.jobs:
        return
    if task_type not in cluster.jobs:
        raise _wrong(_missing_job(cluster, task_type), "task.type", task_type)
    if task_id not in cluster.task_indices(task_type):
        numbers = cluster.task_indices(task_type)
        raise _wrong(
            f"task.index is out of range: cluster.{task_type} has {len(numbers)} task(s), numbers {numbers}",
            "task.index",
            task_id,
        )


def check_jobs(cluster: ClusterSpec, allowed: tuple[str, ...], user: str) -> None:
    """Checks that a cluster has only jobs that a strategy can use.

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
                f"{user} has no use for the job {job!r} of the cluster; it takes {_listed(allowed)}.{hint} "
                f"Received: cluster.{job}={cluster.job_tasks(job)!r}."
            )


def _wrong(problem: str, field: str, value: Any, hint: str = "") -> ClusterError:
    return ClusterError(
        f"{ENVIRONMENT_VARIABLE}: {problem}.{hint and ' ' + hint} Received: {field}={value!r}."
    )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise _wrong("a key stands twice in one object, so one of its values would be lost", "key", key)
    return dict(pairs)


def _fields(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        fields = json.loads(text, object_pairs_hook=_unique_keys)
    except json.JSONDecodeError as error:
        shown = text[max(error.pos - 20, 0) : error.pos + 20]
        raise _wrong(
            f"it is not valid JSON at line {error.lineno}, column {error.colno} ({error.msg})", "near", shown
        ) from error
    if not isinstance(fields, dict):
        raise _wrong(
            "it must be a JSON object with the fields 'cluster' and 'task'", ENVIRONMENT_VARIABLE, fields
        )
    _check_field_names(fields)
    return fields


def _check_field_names(fields: dict[str, Any]) -> None:
    for name in fields:
        meant = difflib.get_close_matches(name.lower(), _FIELDS, n=1, cutoff=0.75)
        if name in _FIELDS:
            continue
        if meant:
            raise _wrong(f"there is no field {name!r}; {meant[0]!r} must be meant", "field", name)
        _logger.info("TF_CONFIG: the field %r is not used.", name)


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong(f"{name} must be a string", name, value)
    return value


def _cluster(value: Any) -> ClusterSpec:
    if value is None:
        return ClusterSpec({})
    if not isinstance(value, dict):
        raise _wrong("cluster must be an object from a job's name to its addresses", "cluster", value)
    cluster = ClusterSpec({name: _tasks(job, value[job]) for job, name in _renamed(value).items()})
    check_cluster(cluster)
    return cluster


def _renamed(jobs: dict[str, Any]) -> dict[str, str]:
    """From the jobs as they are written to their names here: TensorFlow 1 called the chief "master"."""
    if "master" in jobs and "chief" in jobs:
        raise _wrong(
            "cluster has both a master and a chief; they are the same job, so keep the chief",
            "cluster",
            list(jobs),
        )
    if "master" in jobs:
        _logger.info("TF_CONFIG: the job 'master' is taken as the chief, its name since TensorFlow 2.")
    return {job: "chief" if job == "master" else job for job in jobs}


def _tasks(job: str, tasks: Any) -> list[str] | dict[int, str]:
    if isinstance(tasks, dict):
        items = {_number(f"cluster.{job}", index): address for index, address in tasks.items()}
    elif isinstance(tasks, list):
        items = dict(enumerate(tasks))
    else:
        raise _wrong(f"cluster.{job} must be a list of addresses", f"cluster.{job}", tasks)
    for index, address in items.items():
        if not isinstance(address, str):
            raise _wrong(
                f"cluster.{job}[{index}] must be a string 'host:port'", f"cluster.{job}[{index}]", address
            )
    return items


def _number(field: str, value: Any) -> int:
    """The number of a task: an int, or, as TensorFlow takes it too, its decimal digits."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not re.fullmatch(r"-?[0-9]+", text):
        raise _wrong(f"the number of a task in {field} must be an integer", field, value)
    if int(text) < 0:
        raise _wrong(f"the number of a task in {field} must be 0 or more", field, value)
    return int(text)


def _check_job(job: str, cluster: ClusterSpec) -> None:
    if job not in JOBS:
        meant = difflib.get_close_matches(job.lower(), JOBS, n=1, cutoff=0.5)
        hint = f"{meant[0]!r} must be meant." if meant else ""
        raise _wrong(f"cluster has an unknown job; the jobs are {_listed(JOBS)}", "job", job, hint)
    if cluster.num_tasks(job) == 0:
        raise _wrong(f"cluster.{job} is empty; leave out a job that has no tasks", f"cluster.{job}", [])
    if job == "chief" and cluster.task_indices(job) != [0]:
        raise _wrong(
            "there is one chief, number 0; the others are workers",
            "cluster.chief",
            cluster.as_dict()["chief"],
        )


def _check_address(field: str, address: str) -> None:
    if "://" in address:
        raise _wrong(f"{field} must be 'host:port' without a protocol before it", field, address)
    host, colon, port = address.rpartition(":")
    if not colon or (address.count(":") > 1 and not host.startswith("[")):
        raise _wrong(
            f"{field} must be 'host:port', with IPv6 hosts in brackets; it has no port", field, address
        )
    if not host or re.search(r"\s", address):
        raise _wrong(f"{field} must be 'host:port'; its host is empty or has a space", field, address)
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= _MAX_PORT:
        raise _wrong(f"the port of {field} must be a number from 1 to {_MAX_PORT}", field, address)


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
    return _wrong(f"{first} and {second} have the same address", second, address, hint)


def _task(fields: dict[str, Any], cluster: ClusterSpec) -> tuple[str | None, int | None]:
    task = fields.get("task")
    if task is None and not cluster:
        return None, None
    if task is None:
        raise _wrong(
            "task is missing, so this process can't know which task it is", "fields", list(fields), _like()
        )
    if not isinstance(task, dict):
        raise _wrong("task must be an object with 'type' and 'index'", "task", task)
    return _checked_task(task, cluster)


def _like() -> str:
    return f"Expected something like {_EXAMPLE}."


def _checked_task(task: dict[str, Any], cluster: ClusterSpec) -> tuple[str, int]:
    for name in ("type", "index"):
        if task.get(name) is None:
            raise _wrong(f"task.{name} is missing", "task", task)
    if not isinstance(task["type"], str):
        raise _wrong("task.type must be a string", "task.type", task["type"])
    task_type = "chief" if task["type"] == "master" else task["type"]
    task_id = _number("task.index", task["index"])
    if cluster:
        check_task(cluster, task_type, task_id)
    elif task_id > 0 or task_type not in JOBS:
        raise _wrong("there is a task but no cluster that it belongs to", "task", task, _like())
    return task_type, task_id


def _missing_job(cluster: ClusterSpec, task_type: str) -> str:
    if task_type == "chief":
        return (
            "task.type is 'chief' but cluster has none; without one, worker 0 is the chief and says 'worker'"
        )
    return f"task.type is {task_type!r} but cluster has only {_listed(tuple(cluster.jobs))}"
