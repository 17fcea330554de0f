"""Settings of JAX and XLA under TensorFlow's names, as in `tf.config` (cluster layer)."""

import dataclasses
import os
from typing import Any

import jax

from stratax.base.shown import shown
from stratax.cluster import _physical
from stratax.errors import BadArgumentError, FailedPreconditionError

_DETERMINISTIC = "--xla_gpu_deterministic_ops=true"
# What JAX does when an operation finds its operands on several devices.
_POLICIES = {"silent": "allow", "silent_for_int32": "allow", "warn": "log", "explicit": "disallow"}
# What TensorFlow reports before anything is set.
_OPTIMIZER_OPTIONS = {"disable_model_pruning": False, "disable_meta_optimizer": False}


@dataclasses.dataclass(slots=True)
class _Settings:
    jit: bool = False
    optimizer_options: dict[str, Any] = dataclasses.field(default_factory=lambda: dict(_OPTIMIZER_OPTIONS))
    threads: dict[str, int] = dataclasses.field(default_factory=dict)
    is_synchronous: bool = True
    policy: str = "silent"


_settings = _Settings()


def set_jit(enabled: bool | str) -> None:
    """Take note of whether a program asks for XLA, as ``tf.config.optimizer.set_jit``: everything is compiled by it.

    Args:
        enabled: True or ``"autoclustering"`` for yes; all else is no.
    """
    _settings.jit = enabled is True or enabled == "autoclustering"


def get_jit() -> str:
    """Return ``"autoclustering"`` if a program asked for XLA, else an empty string."""
    return "autoclustering" if _settings.jit else ""


def set_experimental_options(options: dict[str, Any]) -> None:
    """Take note of options of TensorFlow's graph optimizer, of which there is none: XLA optimizes.

    Args:
        options: Options and their values, for `get_experimental_options`.
    """
    _settings.optimizer_options.update(options)


def get_experimental_options() -> dict[str, Any]:
    """Return the options that were given to `set_experimental_options`."""
    return dict(_settings.optimizer_options)


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Take note of a number of threads. XLA chooses its own, also for this.

    Args:
        num_threads: For `get_inter_op_parallelism_threads`.
    """
    _settings.threads["inter"] = _thread_count(num_threads)


def get_inter_op_parallelism_threads() -> int:
    """Return what was set; 0, which stands for XLA's choice, if nothing was."""
    return _settings.threads.get("inter", 0)


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Take note of a number of threads. XLA chooses its own: fewer than devices need would let it hang.

    Args:
        num_threads: For `get_intra_op_parallelism_threads`.
    """
    _settings.threads["intra"] = _thread_count(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """Return what was set; 0, which stands for XLA's choice, if nothing was."""
    return _settings.threads.get("intra", 0)


def _thread_count(num_threads: Any) -> int:
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 0:
        raise BadArgumentError(
            "A number of threads is a whole number, 0 for what XLA chooses. Received: "
            f"num_threads={shown(num_threads)}."
        )
    return num_threads


def set_synchronous_execution(enable: bool | None) -> None:
    """Take note of whether operations are waited for. JAX waits where a value is needed, with the same results.

    Args:
        enable: For `get_synchronous_execution`; None is True.
    """
    _settings.is_synchronous = enable is None or bool(enable)


def get_synchronous_execution() -> bool:
    """Return what was set with `set_synchronous_execution`, at first True."""
    return _settings.is_synchronous


def set_device_policy(device_policy: str | None) -> None:
    """Say what happens where an array has to be copied from one device to another for an operation.

    Follows ``tf.config.experimental.set_device_policy``; it sets JAX' ``jax_transfer_guard_device_to_device``.

    Args:
        device_policy: ``"silent"`` or ``"silent_for_int32"``: it is copied. ``"warn"``: that is logged, too.
            ``"explicit"``: it is an error. None: as at first, it is copied.

    Raises:
        BadArgumentError: `device_policy` is none of these.
    """
    policy = "silent" if device_policy is None else device_policy
    if policy not in _POLICIES:
        raise BadArgumentError(
            f"Expected: one of {', '.join(_POLICIES)}, or None. Received: device_policy={shown(device_policy)}."
        )
    jax.config.update("jax_transfer_guard_device_to_device", _POLICIES[policy])
    _settings.policy = policy


def get_device_policy() -> str:
    """Return what was set with `set_device_policy`, at first ``"silent"``."""
    return _settings.policy


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow GPUs to multiply float32 matrices with 10 bits of their fractions, as they do at first, or forbid it.

    Follows ``tf.config.experimental.enable_tensor_float_32_execution``; it sets JAX' ``jax_default_matmul_precision``.
    Functions that are compiled already are compiled anew.

    Args:
        enabled: Whether it is allowed.
    """
    jax.config.update("jax_default_matmul_precision", None if enabled else "highest")


def tensor_float_32_execution_enabled() -> bool:
    """Return whether GPUs may multiply float32 matrices with 10 bits of their fractions."""
    return jax.config.values["jax_default_matmul_precision"] in (None, "default", "fastest", "tensorfloat32")


def enable_op_determinism() -> None:
    """Have operations give the same numbers in each run, as ``tf.config.experimental.enable_op_determinism``.

    CPUs and TPUs do so in any case; of GPUs XLA is asked for it before JAX starts. Random functions give the same
    numbers after `tf.random.set_seed`; here they don't raise if it was not called.

    Raises:
        FailedPreconditionError: JAX has started with GPUs and without the setting.
    """
    flags = os.environ.get("XLA_FLAGS", "")
    if _DETERMINISTIC in flags or not _physical.has_plugin("cuda"):
        return
    if _physical.has_started():
        raise FailedPreconditionError(
            "JAX has started already, and GPUs compute deterministically only if it is asked for before. Call "
            f"enable_op_determinism() at the beginning of the program, or set XLA_FLAGS={_DETERMINISTIC}."
        )
    os.environ["XLA_FLAGS"] = f"{flags} {_DETERMINISTIC}".strip()
