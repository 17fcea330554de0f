"""`PreemptionCheckpointHandler`: all tasks save at one step and leave when a machine goes away (checkpoint layer)."""

import contextlib
import dataclasses
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint._checkpoint import Checkpoint
from stratax.checkpoint._manager import CheckpointManager
from stratax.checkpoint._notice import Notice
from stratax.cluster import Cluster, ClusterResolver, ClusterSpec, ExitCode, current
from stratax.core import Variable

# The part of the grace period that is left for saving.
_RESERVED = 0.3
_logger = logging.getLogger("stratax")


@dataclasses.dataclass(frozen=True, slots=True)
class TerminationConfig:
    """What a task does when its machine is taken away, as ``tf.distribute.experimental.TerminationConfig``.

    Args:
        termination_watcher_fn: Says whether the machine is about to be taken away; asked every second, beside SIGTERM.
        exit_fn: How the process ends when the checkpoint is written. None: with `sys.exit` and the exit code
            `ExitCode.PREEMPTED`, which a launcher starts again.
        grace_period: How many seconds there are between the notice and the end. Training goes on for most of them;
            with 0 the checkpoint is saved at once. None: 0.
        save_fn: What saves, called with the arguments of `run`. None: the handler's own checkpoint.

    Raises:
        BadArgumentError: If `grace_period` is negative.

    Example:
        >>> TerminationConfig(grace_period=30).grace_period
        30
    """

    termination_watcher_fn: Callable[[], bool] | None = None
    exit_fn: Callable[[], object] | None = None
    grace_period: float | None = None
    save_fn: Callable[..., object] | None = None

    def __post_init__(self) -> None:
        if self.grace_period is not None and self.grace_period < 0:
            raise errors.BadArgumentError(
                f"grace_period is a number of seconds. Received: grace_period={shown(self.grace_period)}."
            )


class PreemptionCheckpointHandler:
    """Saves a checkpoint and ends the program when a machine is taken away.

    Follows `tf.distribute.experimental.PreemptionCheckpointHandler`. At SIGTERM, or another notice, in any task, all
    tasks agree on a step, save one checkpoint before it, and leave with `ExitCode.PREEMPTED`. A second SIGTERM ends
    the process at once. When it is made, it restores the last good checkpoint, so the same program resumes.

    Args:
        cluster_resolver: `strategy.cluster_resolver`, which is None for a strategy of one machine.
        checkpoint_or_checkpoint_manager: What is saved; a manager has its own folder and numbers.
        checkpoint_dir: The folder, where a Checkpoint is given.
        termination_config: See `TerminationConfig`.

    Raises:
        BadTypeError: If an argument has the wrong type.
        BadArgumentError: If a Checkpoint has no `checkpoint_dir`.
        ClusterError: If the resolver has a cluster of several tasks, and this process is not connected to it.

    Example:
        >>> import stratax as sx, tempfile
        >>> step = sx.Variable(0)
        >>> strategy = sx.distribute.MirroredStrategy()
        >>> handler = sx.train.PreemptionCheckpointHandler(
        ...     strategy.cluster_resolver, sx.train.Checkpoint(step=step), tempfile.mkdtemp())
        >>> for _ in range(handler.total_run_calls, 3):
        ...     _ = handler.run(step.assign_add, 1)
        >>> int(step), handler.total_run_calls
        (3, 3)
    """

    def __init__(
        self,
        cluster_resolver: ClusterResolver | None,
        checkpoint_or_checkpoint_manager: Checkpoint | CheckpointManager,
        checkpoint_dir: str | os.PathLike | None = None,
        termination_config: TerminationConfig | None = None,
    ) -> None:
        self._cluster = _cluster_of(cluster_resolver)
        self._manager = _manager_of(checkpoint_or_checkpoint_manager, checkpoint_dir)
        self._config = TerminationConfig() if termination_config is None else termination_config
        self._runs = Variable(0, trainable=False, dtype="int32", name="preemption_run_calls")
        self._manager.checkpoint.track_own("preemption_run_calls", self._runs)
        # Before the count is read: it goes on from where the last run of the program was.
        self._manager.restore_or_initialize()
        self._count = int(np.asarray(self._runs))
        self._longest_run = 0.0
        # Last: a signal while it is restored ends the process as usual, and nothing is lost.
        self._notice = Notice(self._on_notice, self._config.termination_watcher_fn)

    @property
    def total_run_calls(self) -> int:
        """How often `run` was called, in this run of the program and those that it resumes."""
        return self._count

    def run(self, distributed_train_function: Callable[..., Any], *args: object, **kwargs: object) -> Any:
        """Run a step of training, if the program does not have to end before it.

        Args:
            distributed_train_function: The step. All tasks call `run` equally often.
            *args: Its arguments.
            **kwargs: Its arguments.

        Returns:
            What the step returns.

        Raises:
            SystemExit: After the checkpoint was saved, with the code `ExitCode.PREEMPTED`.
            CheckpointError: If it could not be saved.
        """
        self.save_checkpoint_if_preempted(*args, **kwargs)
        began = time.monotonic()
        result = distributed_train_function(*args, **kwargs)
        self._longest_run = max(self._longest_run, time.monotonic() - began)
        return result

    def save_checkpoint_if_preempted(self, *args: object, **kwargs: object) -> None:
        """Save and end the program if it has to end before the next step; a loop without `run` calls it.

        Args:
            *args: For `save_fn`.
            **kwargs: For `save_fn`.

        Raises:
            SystemExit: After the checkpoint was saved, with the code `ExitCode.PREEMPTED`.
            CheckpointError: If it could not be saved.
        """
        # All tasks count alike, so they agree on the same step and save together.
        if not self._cluster.agree_on_stop(self._count):
            self._count += 1
            return
        self._save(*args, **kwargs)
        _logger.warning(
            "%s: %s. A checkpoint was saved after %d steps; this program leaves.",
            self._cluster.task_name(),
            self._cluster.stop_reason,
            self._count,
        )
        exit_fn = _leave if self._config.exit_fn is None else self._config.exit_fn
        exit_fn()

    @contextlib.contextmanager
    def watch_preemption_scope(self) -> Iterator[None]:
        """Mark a block in which a loop calls `save_checkpoint_if_preempted`; `run` does not need it."""
        yield

    def _save(self, *args: object, **kwargs: object) -> None:
        # Only now: assigning a variable in every step would cost a dispatch each.
        self._runs.assign(self._count)
        if self._config.save_fn is not None:
            self._config.save_fn(*args, **kwargs)
        else:
            self._manager.save(check_interval=False)
        # The process ends next, which would end the writing thread as well.
        self._manager.sync()

    def _on_notice(self, reason: str) -> None:
        grace = self._config.grace_period or 0.0
        # The slowest step so far says how long it may take until all tasks have stopped.
        delay = grace - max(_RESERVED * grace, 5 * self._longest_run)
        reason = f"{reason} in {self._cluster.task_name()}"
        if delay <= 0:
            self._cluster.request_stop(reason)
            return
        timer = threading.Timer(delay, self._cluster.request_stop, (reason,))
        # A program that ends before needs no stop.
        timer.daemon = True
        timer.start()


def _leave() -> None:
    sys.exit(int(ExitCode.PREEMPTED))


def _cluster_of(resolver: object) -> Cluster:
    if resolver is not None and not isinstance(resolver, ClusterResolver):
        raise errors.BadTypeError(
            "cluster_resolver must be a stratax.cluster.ClusterResolver, such as strategy.cluster_resolver. "
            f"Received: cluster_resolver={shown(resolver)}."
        )
    # Whatever the resolver says, the program has one cluster.
    connected = current()
    if connected is not None:
        return connected
    if resolver is None:
        return Cluster(ClusterSpec({}), None, None)
    spec = resolver.cluster_spec()
    if sum(spec.num_tasks(job) for job in spec.jobs) > 1:
        raise errors.ClusterError(
            "This process is not connected to its cluster. Make the strategy of all workers before the handler, for "
            "instance a MultiWorkerMirroredStrategy. "
            f"Received: cluster_resolver of {shown(spec)}."
        )
    return Cluster(ClusterSpec({}), resolver.task_type, resolver.task_id)


def _manager_of(saved: Any, folder: Any) -> CheckpointManager:
    if isinstance(saved, CheckpointManager):
        return saved
    if not isinstance(saved, Checkpoint):
        raise errors.BadTypeError(
            "checkpoint_or_checkpoint_manager must be a stratax.train.Checkpoint or CheckpointManager. "
            f"Received: checkpoint_or_checkpoint_manager={shown(saved)}."
        )
    if folder is None:
        raise errors.BadArgumentError(
            "A Checkpoint needs a folder to be saved into. Expected: checkpoint_dir, or a CheckpointManager. "
            "Received: checkpoint_dir=None."
        )
    return CheckpointManager(saved, folder, max_to_keep=1)
