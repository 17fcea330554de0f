"""`RunConfig`: how an Estimator runs (estimator layer)."""

import copy
import enum
import inspect
import logging
import os
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

from stratax import errors
from stratax.base.shown import shown
from stratax.cluster import ClusterSpec, TFConfig, TFConfigClusterResolver

_logger = logging.getLogger("stratax")


class _Default(enum.Enum):
    """Tells an argument that was not passed from None, which turns checkpoints off."""

    USE_DEFAULT = enum.auto()

    def __repr__(self) -> str:
        return self.name


_USE_DEFAULT = _Default.USE_DEFAULT
_DEFAULT_SAVE_SECS = 600


class DistributeConfig(NamedTuple):
    """Strategies by what they are for, as `tf.contrib.distribute.DistributeConfig`.

    Args:
        train_distribute: The strategy of training.
        eval_distribute: The strategy of evaluation.
        remote_cluster: Refused: every task runs the program itself.
    """

    train_distribute: Any = None
    eval_distribute: Any = None
    remote_cluster: Any = None


class RunConfig:
    """How an Estimator runs, as `tf.estimator.RunConfig`.

    What it says of the cluster comes from `TF_CONFIG`. In a cluster without a chief, worker 0 is the chief.

    Args:
        model_dir: The folder of checkpoints and summaries; `TF_CONFIG` may name it instead.
        tf_random_seed: What the first values of variables, dropout and the like follow from.
        save_summary_steps: The distance of summaries in steps; 0 or None for none.
        save_checkpoints_steps: The distance of checkpoints in steps.
        save_checkpoints_secs: Their distance in seconds, instead; 600 where neither is passed. Both None: no
            checkpoints.
        session_config: Ignored.
        keep_checkpoint_max: How many checkpoints stay; 0 or None for all.
        keep_checkpoint_every_n_hours: One checkpoint in so many hours stays besides.
        log_step_count_steps: The distance of log lines with the loss, and of the speed, in steps.
        train_distribute: The strategy of training.
        device_fn: Ignored: strategies place what is computed.
        protocol: Ignored.
        eval_distribute: The strategy of evaluation.
        experimental_distribute: A `DistributeConfig`, instead of the two.
        experimental_max_worker_delay_secs: Ignored: workers start together.
        session_creation_timeout_secs: How long a worker waits for the others, in seconds.
        checkpoint_save_graph_def: Ignored: there is no graph.

    Raises:
        BadArgumentError: If a number is out of range, or two arguments say the same thing.
        BadTypeError: If something has a wrong type.
        ClusterError: If `TF_CONFIG` is wrong.

    Example:
        >>> from stratax.estimator import RunConfig
        >>> config = RunConfig(model_dir="models/first", save_checkpoints_steps=500)
        >>> config.replace(save_checkpoints_secs=60).save_checkpoints_steps is None
        True
    """

    # What a subclass adds to, if it has more.
    _REPLACEABLE: ClassVar[tuple[str, ...]] = (
        "model_dir",
        "tf_random_seed",
        "save_summary_steps",
        "save_checkpoints_steps",
        "save_checkpoints_secs",
        "session_config",
        "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
        "log_step_count_steps",
        "train_distribute",
        "device_fn",
        "protocol",
        "eval_distribute",
        "experimental_distribute",
        "experimental_max_worker_delay_secs",
        "session_creation_timeout_secs",
        "checkpoint_save_graph_def",
    )

    def __init__(
        self,
        model_dir: str | os.PathLike[str] | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: object = _USE_DEFAULT,
        save_checkpoints_secs: object = _USE_DEFAULT,
        session_config: object = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float | None = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: object = None,
        device_fn: Callable[..., Any] | None = None,
        protocol: str | None = None,
        eval_distribute: object = None,
        experimental_distribute: DistributeConfig | None = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: float | None = 7200,
        checkpoint_save_graph_def: bool = True,
    ) -> None:
        self._values: dict[str, Any] = {}
        tf_config = TFConfigClusterResolver().tf_config
        tf_config.check_place()
        steps, secs = _save_distances(save_checkpoints_steps, save_checkpoints_secs)
        strategies = _strategies(train_distribute, eval_distribute, experimental_distribute)
        self._set(
            model_dir=_model_dir(model_dir, tf_config),
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=steps,
            save_checkpoints_secs=secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            train_distribute=strategies.train_distribute,
            device_fn=device_fn,
            protocol=protocol,
            eval_distribute=strategies.eval_distribute,
            experimental_distribute=experimental_distribute,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
            session_creation_timeout_secs=session_creation_timeout_secs,
            checkpoint_save_graph_def=checkpoint_save_graph_def,
        )
        self._place = _name_chief(_place(tf_config), tf_config.name_of_chief)
        self._service = tf_config.service

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            _check(name, value)
        self._values |= values

    def replace(self, **kwargs: Any) -> "RunConfig":
        """Return a copy in which some arguments have other values, as TensorFlow's.

        Args:
            **kwargs: The arguments of the constructor; of a subclass, those that it allows. Where one of
                `save_checkpoints_steps` and `save_checkpoints_secs` is set, the other one becomes None.

        Raises:
            BadArgumentError: If there is no such argument, or a value is out of range.
            BadTypeError: If a value has a wrong type.
        """
        for name in kwargs:
            if name not in self._REPLACEABLE:
                raise errors.BadArgumentError(
                    f"Replacing {name} is not supported. Expected: {', '.join(self._REPLACEABLE)}. "
                    f"Received: {name}={shown(kwargs[name])}."
                )
        steps, secs = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        _check_one_distance(steps, secs)
        if steps is not None:
            kwargs["save_checkpoints_secs"] = None
        if secs is not None:
            kwargs["save_checkpoints_steps"] = None
        if "model_dir" in kwargs and kwargs["model_dir"] is not None:
            kwargs["model_dir"] = os.fspath(kwargs["model_dir"])
        if "experimental_distribute" in kwargs:
            config = kwargs["experimental_distribute"]
            strategies = _strategies(kwargs.get("train_distribute"), kwargs.get("eval_distribute"), config)
            kwargs |= {
                name: value
                for name, value in strategies._asdict().items()
                if name != "remote_cluster" and value
            }
        # Strategies and functions are shared with the copy.
        replaced = copy.copy(self)
        replaced._values = dict(self._values)
        replaced._set(**kwargs)
        return replaced

    def __repr__(self) -> str:
        names = (*self._REPLACEABLE, "task_type", "task_id", "is_chief")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def model_dir(self) -> str | None:
        """The folder of checkpoints and summaries."""
        return self._values["model_dir"]

    @property
    def tf_random_seed(self) -> int | None:
        """The seed of the initial values and of random operations."""
        return self._values["tf_random_seed"]

    @property
    def save_summary_steps(self) -> int | None:
        """The distance of summaries in steps."""
        return self._values["save_summary_steps"]

    @property
    def save_checkpoints_steps(self) -> int | None:
        """The distance of checkpoints in steps."""
        return self._values["save_checkpoints_steps"]

    @property
    def save_checkpoints_secs(self) -> float | None:
        """The distance of checkpoints in seconds."""
        return self._values["save_checkpoints_secs"]

    @property
    def session_config(self) -> Any:
        """What was passed; ignored."""
        return self._values["session_config"]

    @property
    def keep_checkpoint_max(self) -> int | None:
        """How many checkpoints stay."""
        return self._values["keep_checkpoint_max"]

    @property
    def keep_checkpoint_every_n_hours(self) -> float | None:
        """One checkpoint in so many hours stays besides."""
        return self._values["keep_checkpoint_every_n_hours"]

    @property
    def log_step_count_steps(self) -> int | None:
        """The distance of log lines in steps."""
        return self._values["log_step_count_steps"]

    @property
    def train_distribute(self) -> Any:
        """The strategy of training, or None."""
        return self._values["train_distribute"]

    @property
    def device_fn(self) -> Callable[..., Any] | None:
        """What was passed; ignored."""
        return self._values["device_fn"]

    @property
    def protocol(self) -> str | None:
        """What was passed; ignored."""
        return self._values["protocol"]

    @property
    def eval_distribute(self) -> Any:
        """The strategy of evaluation, or None."""
        return self._values["eval_distribute"]

    @property
    def experimental_distribute(self) -> DistributeConfig | None:
        """The value that was passed to the constructor."""
        return self._values["experimental_distribute"]

    @property
    def experimental_max_worker_delay_secs(self) -> int | None:
        """What was passed; ignored."""
        return self._values["experimental_max_worker_delay_secs"]

    @property
    def session_creation_timeout_secs(self) -> float | None:
        """How long a worker waits for the others, in seconds."""
        return self._values["session_creation_timeout_secs"]

    @property
    def checkpoint_save_graph_def(self) -> bool:
        """What was passed; ignored."""
        return self._values["checkpoint_save_graph_def"]

    @property
    def service(self) -> dict[str, Any] | None:
        """What `TF_CONFIG` says of the platform."""
        return self._service

    @property
    def cluster_spec(self) -> ClusterSpec:
        """The training cluster; empty on one machine and in an evaluator, which is not part of it."""
        return self._place.cluster

    @property
    def task_type(self) -> str:
        """This process's job: `"chief"` (or `"master"`, if TF_CONFIG says so), `"worker"`, `"ps"` or `"evaluator"`."""
        return self._place.task_type

    @property
    def task_id(self) -> int:
        """This process's number in its job."""
        return self._place.task_id

    @property
    def global_id_in_cluster(self) -> int | None:
        """This process's number in the training cluster: the chief, then jobs by name, the servers last."""
        return self._place.global_id

    @property
    def is_chief(self) -> bool:
        """Whether this process saves checkpoints and summaries."""
        return self._place.is_chief

    @property
    def master(self) -> str:
        """This process's address with its protocol; empty on one machine."""
        return self._place.master

    @property
    def evaluation_master(self) -> str:
        """What `TF_CONFIG` names for an evaluator; else empty."""
        return self._place.evaluation_master

    @property
    def num_ps_replicas(self) -> int:
        """How many parameter servers the cluster has."""
        return self._place.num_ps

    @property
    def num_worker_replicas(self) -> int:
        """How many workers the cluster has, the chief among them; 1 on one machine, 0 in an evaluator."""
        return self._place.num_workers


class _Place(NamedTuple):
    """What a task is in its cluster."""

    cluster: ClusterSpec
    task_type: str
    task_id: int
    global_id: int | None
    is_chief: bool
    master: str
    evaluation_master: str
    num_ps: int
    num_workers: int


def _place(config: TFConfig) -> _Place:
    cluster, task_type, task_id = config.cluster, config.task_type, config.task_id
    if not cluster or task_type is None or task_id is None:
        return _place_alone(config)
    if task_type == "evaluator":
        return _Place(
            cluster=ClusterSpec({}),
            task_type=task_type,
            task_id=task_id,
            global_id=None,
            is_chief=False,
            master="",
            evaluation_master=config.eval_session_master or "",
            num_ps=0,
            num_workers=0,
        )
    return _Place(
        cluster=cluster,
        task_type=task_type,
        task_id=task_id,
        global_id=_global_id(cluster, task_type, task_id),
        is_chief=(task_type, task_id) == ("chief" if "chief" in cluster.jobs else "worker", 0),
        master=_master(config, cluster, task_type, task_id),
        evaluation_master="",
        num_ps=_num_tasks(cluster, "ps"),
        num_workers=_num_tasks(cluster, "chief") + _num_tasks(cluster, "worker"),
    )


def _name_chief(place: _Place, chief: str) -> _Place:
    """Return a place with the name that TF_CONFIG has for the chief."""
    jobs = {chief if job == "chief" else job: tasks for job, tasks in place.cluster.as_dict().items()}
    task_type = chief if place.task_type == "chief" else place.task_type
    return place._replace(cluster=ClusterSpec(jobs), task_type=task_type)


def _place_alone(config: TFConfig) -> _Place:
    if config.task_type not in (None, "worker"):
        raise errors.ClusterError(
            f"TF_CONFIG: without a cluster, this process is a worker. Received: task.type={shown(config.task_type)}. "
            "Say which cluster it belongs to, or leave out the task."
        )
    return _Place(
        cluster=ClusterSpec({}),
        task_type="worker",
        task_id=0,
        global_id=0,
        is_chief=True,
        master=config.session_master or "",
        evaluation_master=config.eval_session_master or "",
        num_ps=0,
        num_workers=1,
    )


def _num_tasks(cluster: ClusterSpec, job: str) -> int:
    return cluster.num_tasks(job) if job in cluster.jobs else 0


def _global_id(cluster: ClusterSpec, task_type: str, task_id: int) -> int:
    # TensorFlow's order.
    jobs = sorted(cluster.jobs, key=lambda job: (job == "ps", job != "chief", job))
    return sum(cluster.num_tasks(job) for job in jobs[: jobs.index(task_type)]) + task_id


def _master(config: TFConfig, cluster: ClusterSpec, task_type: str, task_id: int) -> str:
    if config.session_master is not None:
        return config.session_master
    if sum(cluster.num_tasks(job) for job in cluster.jobs) == 1:
        return ""
    return f"grpc://{cluster.task_address(task_type, task_id)}"


def _save_distances(steps: object, secs: object) -> tuple[Any, Any]:
    if steps is _USE_DEFAULT and secs is _USE_DEFAULT:
        return None, _DEFAULT_SAVE_SECS
    steps = None if steps is _USE_DEFAULT else steps
    secs = None if secs is _USE_DEFAULT else secs
    _check_one_distance(steps, secs)
    return steps, secs


def _check_one_distance(steps: object, secs: object) -> None:
    if steps is not None and secs is not None:
        raise errors.BadArgumentError(
            "save_checkpoints_steps and save_checkpoints_secs can't both be set. "
            f"Received: save_checkpoints_steps={shown(steps)}, save_checkpoints_secs={shown(secs)}. Leave out one."
        )


def _strategies(train: object, evaluate: object, config: object) -> DistributeConfig:
    if config is None:
        return DistributeConfig(train, evaluate)
    if not isinstance(config, DistributeConfig):
        raise errors.BadTypeError(
            f"experimental_distribute must be a DistributeConfig. Received: experimental_distribute={shown(config)}."
        )
    if config.remote_cluster is not None:
        raise errors.BadArgumentError(
            "remote_cluster is not supported: no task runs another one's program. Received: "
            f"remote_cluster={shown(config.remote_cluster)}. Start the program in every task, with TF_CONFIG."
        )
    return DistributeConfig(
        _either("train_distribute", train, config.train_distribute),
        _either("eval_distribute", evaluate, config.eval_distribute),
    )


def _either(name: str, own: object, other: object) -> Any:
    if own is not None and other is not None:
        raise errors.BadArgumentError(
            f"Either {name} or experimental_distribute.{name} can be set. Received: {name}={shown(own)}, "
            f"experimental_distribute.{name}={shown(other)}."
        )
    return other if own is None else own


def _model_dir(given: Any, config: TFConfig) -> str | None:
    folder = given if given is None else os.fspath(given)
    if config.model_dir is None or folder == config.model_dir:
        return folder
    if folder is not None:
        raise errors.BadArgumentError(
            "model_dir and the one of TF_CONFIG must be the same. "
            f"Received: model_dir={shown(folder)}, TF_CONFIG['model_dir']={shown(config.model_dir)}. Leave out one."
        )
    _logger.info("Using model_dir in TF_CONFIG: %s", config.model_dir)
    return config.model_dir


# By argument: what holds for a value that is not None, and how a message says it.
_AT_LEAST_0 = ("at least 0", lambda value: value >= 0)
_MORE_THAN_0 = ("more than 0", lambda value: value > 0)
_RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "save_summary_steps": _AT_LEAST_0,
    "save_checkpoints_steps": _AT_LEAST_0,
    "save_checkpoints_secs": _AT_LEAST_0,
    "keep_checkpoint_max": _AT_LEAST_0,
    "keep_checkpoint_every_n_hours": _MORE_THAN_0,
    "log_step_count_steps": _MORE_THAN_0,
    "session_creation_timeout_secs": _MORE_THAN_0,
    "model_dir": ("a folder, not an empty string", bool),
    "protocol": ("'grpc' or 'grpc+verbs'", lambda value: value in ("grpc", "grpc+verbs")),
    "device_fn": (
        "a function of one argument 'op'",
        lambda value: callable(value) and _parameters(value) == ["op"],
    ),
}
_INTEGERS = ("tf_random_seed", "experimental_max_worker_delay_secs")


def _check(name: str, value: object) -> None:
    if value is None:
        return
    if name in _INTEGERS and not isinstance(value, int):
        raise errors.BadArgumentError(f"{name} must be an integer. Received: {name}={shown(value)}.")
    if name not in _RANGES:
        return
    expected, holds = _RANGES[name]
    try:
        is_right = holds(value)
    except TypeError as error:
        raise errors.BadTypeError(f"{name} must be {expected}. Received: {name}={shown(value)}.") from error
    if not is_right:
        raise errors.BadArgumentError(f"{name} must be {expected}. Received: {name}={shown(value)}.")


def _parameters(function: Callable[..., Any]) -> Iterable[str]:
    return list(inspect.signature(function).parameters)
