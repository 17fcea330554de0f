"""`TPUConfig` and the `RunConfig` that has one (estimator layer)."""

import collections
from typing import Any, ClassVar

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator import _run_config


class InputPipelineConfig:
    """How the input is divided among the cores, as `tf.estimator.tpu.InputPipelineConfig`.

    Attributes:
        PER_SHARD_V1: `input_fn` is called once for each core and gives its batches, in training; otherwise as
            `PER_HOST_V1`.
        PER_HOST_V1: `input_fn` gives batches of all cores of a host, which are divided.
        PER_HOST_V2: `input_fn` is called once for each host and gives batches of one core.
        BROADCAST: Each core gets a whole batch of all cores. Refused: it is for models that share one.
        SLICED: In evaluation and prediction, `input_fn` gives batches of all cores, which are divided. Every host calls
            it, and takes its part.
    """

    PER_SHARD_V1 = 1
    PER_HOST_V1 = 2
    PER_HOST_V2 = 3
    BROADCAST = 4
    SLICED = 5


# As TensorFlow has them.
_CORES = (1, 2, 4, 8, 16, 32, 64, 128)


class TPUConfig(
    collections.namedtuple(
        "TPUConfig",
        [
            "iterations_per_loop",
            "num_shards",
            "num_cores_per_replica",
            "per_host_input_for_training",
            "tpu_job_name",
            "initial_infeed_sleep_secs",
            "input_partition_dims",
            "eval_training_input_configuration",
            "experimental_host_call_every_n_steps",
            "experimental_allow_per_host_v2_parallel_get_next",
            "experimental_feed_hook",
        ],
    )
):
    """How training runs on the cores of a TPU, as `tf.estimator.tpu.TPUConfig`.

    Args:
        iterations_per_loop: How many steps one program runs; the last one is shortened. Hooks, checkpoints and
            summaries come between programs.
        num_shards: How many cores there are; None for as many as there are found.
        num_cores_per_replica: How many cores of one host share a replica, a power of two up to 128; None for 1. Where
            there are fewer devices, all of them do.
        per_host_input_for_training: Whether `input_fn` gives batches of a host and not of a core; or one of
            :class:`InputPipelineConfig`.
        tpu_job_name: Ignored.
        initial_infeed_sleep_secs: Ignored: there is no infeed to wait for.
        input_partition_dims: Into how many parts the cores of a replica divide each dimension of features, and of
            labels: a list of one or two structures of lists, with None for what is not divided. It changes no number.
        eval_training_input_configuration: `InputPipelineConfig.PER_HOST_V1`, by which evaluation divides its input as
            training does, or `SLICED`.
        experimental_host_call_every_n_steps: At every how many steps the host call is made.
        experimental_allow_per_host_v2_parallel_get_next: Ignored.
        experimental_feed_hook: Must be None.

    Raises:
        BadArgumentError: If a number is not positive, or something is asked for that is not supported.
    """

    __slots__ = ()

    def __new__(
        cls,
        iterations_per_loop: int = 2,
        num_shards: int | None = None,
        num_cores_per_replica: int | None = None,
        per_host_input_for_training: bool | int = True,
        tpu_job_name: str | None = None,
        initial_infeed_sleep_secs: float | None = None,
        input_partition_dims: object = None,
        eval_training_input_configuration: int = InputPipelineConfig.PER_HOST_V1,
        experimental_host_call_every_n_steps: int = 1,
        experimental_allow_per_host_v2_parallel_get_next: bool = False,
        experimental_feed_hook: object = None,
    ) -> "TPUConfig":
        """Check the values and make the configuration."""
        if isinstance(iterations_per_loop, str):
            raise errors.BadArgumentError(
                "A loop has a number of steps, not a time: all hosts have to run the same one. Expected: an integer. "
                f"Received: iterations_per_loop={shown(iterations_per_loop)}."
            )
        for name, value in (
            ("iterations_per_loop", iterations_per_loop),
            ("num_shards", num_shards),
            ("experimental_host_call_every_n_steps", experimental_host_call_every_n_steps),
        ):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise errors.BadArgumentError(
                    f"TPUConfig {name} must be a positive integer. Received: {name}={shown(value)}."
                )
        if initial_infeed_sleep_secs and (
            not isinstance(initial_infeed_sleep_secs, int) or initial_infeed_sleep_secs < 1
        ):
            raise errors.BadArgumentError(
                "TPUConfig initial_infeed_sleep_secs must be a positive integer. Received: "
                f"initial_infeed_sleep_secs={shown(initial_infeed_sleep_secs)}."
            )
        if eval_training_input_configuration not in (
            InputPipelineConfig.PER_HOST_V1,
            InputPipelineConfig.SLICED,
        ):
            raise errors.BadArgumentError(
                "eval_training_input_configuration must be InputPipelineConfig.PER_HOST_V1 or SLICED. Received: "
                f"eval_training_input_configuration={shown(eval_training_input_configuration)}."
            )
        if num_cores_per_replica is not None and num_cores_per_replica not in _CORES:
            raise errors.BadArgumentError(
                f"num_cores_per_replica must be one of {_CORES}. Received: "
                f"num_cores_per_replica={shown(num_cores_per_replica)}."
            )
        if input_partition_dims is not None:
            _check_partition(input_partition_dims, num_cores_per_replica, per_host_input_for_training)
        if experimental_feed_hook is not None:
            raise errors.BadArgumentError(
                "experimental_feed_hook is not supported: there is no infeed. Received: "
                f"experimental_feed_hook={shown(experimental_feed_hook)}."
            )
        if per_host_input_for_training in (InputPipelineConfig.BROADCAST, InputPipelineConfig.SLICED):
            raise errors.BadArgumentError(
                "A whole batch for each core is not supported. Expected: True, False or "
                "InputPipelineConfig.PER_HOST_V2. Received: "
                f"per_host_input_for_training={shown(per_host_input_for_training)}."
            )
        return super().__new__(
            cls,
            iterations_per_loop,
            num_shards,
            num_cores_per_replica,
            # True is 1, which would be PER_SHARD_V1.
            _pipeline(per_host_input_for_training),
            tpu_job_name,
            initial_infeed_sleep_secs,
            input_partition_dims,
            eval_training_input_configuration,
            experimental_host_call_every_n_steps,
            experimental_allow_per_host_v2_parallel_get_next,
            experimental_feed_hook,
        )


def _check_partition(dims: Any, cores: int | None, pipeline: bool | int) -> None:
    if not isinstance(dims, list | tuple) or len(dims) not in (1, 2):
        raise errors.BadArgumentError(
            "input_partition_dims must be a list of one or two structures, for features and labels. Received: "
            f"input_partition_dims={shown(dims)}."
        )
    if cores is None or pipeline is True or pipeline != InputPipelineConfig.PER_HOST_V2:
        raise errors.BadArgumentError(
            "input_partition_dims needs num_cores_per_replica, and per_host_input_for_training="
            f"InputPipelineConfig.PER_HOST_V2. Received: num_cores_per_replica={cores}, "
            f"per_host_input_for_training={pipeline}."
        )


def _pipeline(given: bool | int) -> int:
    if isinstance(given, bool):
        return InputPipelineConfig.PER_HOST_V1 if given else InputPipelineConfig.PER_SHARD_V1
    return given


class RunConfig(_run_config.RunConfig):
    """How a `TPUEstimator` runs, as `tf.estimator.tpu.RunConfig`.

    Args:
        tpu_config: A :class:`TPUConfig`.
        evaluation_master: Ignored: evaluation runs where training does.
        master: Ignored, but for an error if `cluster` is given too.
        cluster: A `TPUClusterResolver`: the TPU. None for the one that there is.
        **kwargs: The arguments of `stratax.estimator.RunConfig`.

    Raises:
        BadArgumentError: If both `master` and `cluster` are given, or as `RunConfig`.
    """

    _REPLACEABLE: ClassVar[tuple[str, ...]] = (*_run_config.RunConfig._REPLACEABLE, "tpu_config", "cluster")

    def __init__(
        self,
        tpu_config: TPUConfig | None = None,
        evaluation_master: str | None = None,
        master: str | None = None,
        cluster: Any = None,
        **kwargs: Any,
    ) -> None:
        if master is not None and cluster is not None:
            raise errors.BadArgumentError(
                f"Both master and cluster are set. Received: master={shown(master)}, cluster={shown(cluster)}."
            )
        if tpu_config is not None and not isinstance(tpu_config, TPUConfig):
            raise errors.BadTypeError(
                f"tpu_config must be a TPUConfig. Received: tpu_config={shown(tpu_config)}."
            )
        super().__init__(**kwargs)
        self._set(tpu_config=tpu_config or TPUConfig(), cluster=cluster)

    @property
    def tpu_config(self) -> TPUConfig:
        """How training runs on the cores."""
        found: TPUConfig = self._values["tpu_config"]
        return found

    @property
    def cluster(self) -> Any:
        """The resolver of the TPU, or None."""
        return self._values["cluster"]
