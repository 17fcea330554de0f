"""TF_CONFIG: what it says, and every way in which it can be wrong (cluster layer).

`stratax` reads what TensorFlow reads; where TensorFlow ignores or guesses, the difference is an error here. Each
mistake has a sentence of its own that names the field. Jobs, addresses and the task are checked when they are used (see
`_cluster_checks`), as a whole before anything is started, and not when they are read, as in TensorFlow.
"""

import contextlib
import dataclasses
import difflib
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

from stratax.base.shown import shown
from stratax.cluster._cluster_checks import check_place, wrong
from stratax.cluster._cluster_spec import ClusterSpec
from stratax.errors import ClusterError

# The environment variable that describes a cluster and this process's place in it.
ENVIRONMENT_VARIABLE = "TF_CONFIG"

_FIELDS = (
    "cluster",
    "task",
    "rpc_layer",
    "environment",
    "session_master",
    "eval_session_master",
    "master",
    "service",
    "model_dir",
)
# Bounded: `int` of very long digits is quadratic, and refused by Python with another error.
_NUMBER = re.compile(r"-?[0-9]{1,99}")
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TFConfig:
    """What a TF_CONFIG says; whether it can be right is checked by whoever uses it.

    Attributes:
        cluster: Every job's addresses; empty where this process is alone.
        task_type: This process's job; None where nothing is said.
        task_id: Its number; None where nothing is said.
        rpc_layer: The protocol, or None.
        environment: The environment, or an empty string.
        session_master: Where a session of TensorFlow's would be, or None.
        eval_session_master: Where an evaluator's would be, or None.
        service: What the platform says of itself, or None.
        model_dir: The folder of an Estimator, or None.
        name_of_chief: What the text calls the chief: `"chief"`, or `"master"` as TensorFlow 1.
    """

    cluster: ClusterSpec
    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None
    environment: str = ""
    session_master: str | None = None
    eval_session_master: str | None = None
    service: dict[str, Any] | None = None
    model_dir: str | None = None
    name_of_chief: str = "chief"

    def check_place(self) -> None:
        """Check that this process can be the task that is said, wherever tasks are; there may be jobs of others.

        Raises:
            ClusterError: If a job or the task can't be right; the message names the field.
        """
        with naming_tf_config():
            check_place(self.cluster, self.task_type, self.task_id, others=True)


def parse_tf_config(text: str) -> TFConfig:
    """Read a TF_CONFIG.

    Args:
        text: The JSON text; empty where there is none.

    Returns:
        What it says, with addresses as they stand there.

    Raises:
        ClusterError: If it can't be read; the message names the field.

    Example:
        >>> config = parse_tf_config('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}')
        >>> config.task_type, config.task_id, config.cluster.num_tasks("worker")
        ('worker', 1, 2)
    """
    with naming_tf_config():
        return _parse(_fields(text))


@contextlib.contextmanager
def naming_tf_config() -> Iterator[None]:
    """Have errors of the block say that TF_CONFIG is wrong: the checks serve other resolvers, too."""
    try:
        yield
    except ClusterError as error:
        raise ClusterError(f"{ENVIRONMENT_VARIABLE}: {error}") from error.__cause__


def _parse(fields: dict[str, Any]) -> TFConfig:
    cluster = _cluster(fields.get("cluster"))
    task_type, task_id = _task(fields.get("task"))
    return TFConfig(
        cluster=cluster,
        task_type=task_type,
        task_id=task_id,
        rpc_layer=_text(fields, "rpc_layer"),
        environment=_text(fields, "environment") or "",
        session_master=_text(fields, "session_master"),
        eval_session_master=_text(fields, "eval_session_master"),
        service=_service(fields.get("service")),
        model_dir=_model_dir(fields),
        name_of_chief="master" if "master" in (fields.get("cluster") or ()) else "chief",
    )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise wrong("a key stands twice in one object, so one of its values would be lost", "key", key)
    return dict(pairs)


def _fields(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        # JSON allows a key twice, and Python would keep the last without a word.
        fields = json.loads(text, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise wrong("it is nested too deeply to be a cluster", "its beginning", text[:40]) from error
    except json.JSONDecodeError as error:
        shown = text[max(error.pos - 20, 0) : error.pos + 20]
        raise wrong(
            f"it is not valid JSON at line {error.lineno}, column {error.colno} ({error.msg})", "near", shown
        ) from error
    if not isinstance(fields, dict):
        raise wrong(
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
            raise wrong(f"there is no field {shown(name)}; {shown(meant[0])} must be meant", "field", name)
        _logger.info("TF_CONFIG: the field %r is not used.", name)


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(f"{name} must be a string", name, value)
    return value


def _service(value: object) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise wrong("service must be an object", "service", value)
    return value


def _model_dir(fields: dict[str, Any]) -> str | None:
    folder = _text(fields, "model_dir")
    if folder == "":
        raise wrong("model_dir must not be empty", "model_dir", folder)
    return folder


def _cluster(value: object) -> ClusterSpec:
    if value is None:
        return ClusterSpec({})
    if not isinstance(value, dict):
        raise wrong("cluster must be an object from a job's name to its addresses", "cluster", value)
    return ClusterSpec({name: _tasks(job, value[job]) for job, name in _rename_jobs(value).items()})


def _rename_jobs(jobs: dict[str, Any]) -> dict[str, str]:
    """Rename the jobs of TF_CONFIG: TensorFlow 1 called the chief "master"."""
    if "master" in jobs and "chief" in jobs:
        raise wrong(
            "cluster has both a master and a chief; they are the same job, so keep the chief",
            "cluster",
            list(jobs),
        )
    if "master" in jobs:
        _logger.info("TF_CONFIG: the job 'master' is taken as the chief, its name since TensorFlow 2.")
    return {job: "chief" if job == "master" else job for job in jobs}


def _tasks(job: str, tasks: object) -> list[str] | dict[int, str]:
    if isinstance(tasks, dict):
        items = {_number(f"cluster.{job}", index): address for index, address in tasks.items()}
        # "1" and "01" are two keys and one number.
        if len(items) < len(tasks):
            raise wrong(f"a task of cluster.{job} is numbered twice", f"cluster.{job}", tasks)
    elif isinstance(tasks, list):
        items = dict(enumerate(tasks))
    else:
        raise wrong(f"cluster.{job} must be a list of addresses", f"cluster.{job}", tasks)
    for index, address in items.items():
        if not isinstance(address, str):
            raise wrong(
                f"cluster.{job}[{index}] must be a string 'host:port'", f"cluster.{job}[{index}]", address
            )
    return items


def _number(field: str, value: object) -> int:
    """Return the number of a task: an int, or, as TensorFlow takes it too, its decimal digits."""
    text = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not _NUMBER.fullmatch(text):
        raise wrong(f"the number of a task in {field} must be an integer", field, value)
    if int(text) < 0:
        raise wrong(f"the number of a task in {field} must be 0 or more", field, value)
    return int(text)


def _task(task: object) -> tuple[str | None, int | None]:
    if task is None:
        return None, None
    if not isinstance(task, dict):
        raise wrong("task must be an object with 'type' and 'index'", "task", task)
    task_type, number = task.get("type"), task.get("index")
    if task_type is not None and not isinstance(task_type, str):
        raise wrong("task.type must be a string", "task.type", task_type)
    return "chief" if task_type == "master" else task_type, None if number is None else _number(
        "task.index", number
    )
