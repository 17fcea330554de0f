"""`tf.train.MonitoredTrainingSession`, `Supervisor`: sessions with hooks, checkpoints, summaries (estimator layer)."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from stratax import errors
from stratax.base.typing import PyTree
from stratax.checkpoint import latest_checkpoint
from stratax.summary.files import FileWriter
from stratax.tensorflow.estimator._results import ResultsHook
from stratax.tensorflow.estimator._scaffold import Scaffold
from stratax.tensorflow.estimator.hooks import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from stratax.tensorflow.graph import Graph, Session, enter_program_graph, start_queue_runners
from stratax.tensorflow.v1 import (
    get_collection,
    global_variables_initializer,
    local_variables_initializer,
)
from stratax.tensorflow.v1.summary import merge_all
from stratax.tensorflow.v1.train import Saver, get_global_step

_CHECKPOINT = "model.ckpt"
_SAVE_SECONDS = 600
_SUMMARY_STEPS = 100


class MonitoredView:
    """What hooks see of a monitored session: the session, and how far it is.

    Args:
        session: The session.
        saver: Saves it.
        folder: Where checkpoints are.
        is_chief: Whether this process writes files.

    Attributes:
        global_step: How many steps are done.
        steps: How many steps a run makes: one.
        is_chief: Whether this process writes files.
        model_dir: Where checkpoints are.
        saver: Saves it.
    """

    def __init__(self, session: Session, saver: Saver | None, folder: str, *, is_chief: bool) -> None:
        self._session = session
        self._step = get_global_step()
        self.saver = saver
        self.model_dir = folder
        self.is_chief = is_chief
        self.steps = 1
        self.global_step = 0
        self.count()

    def count(self) -> None:
        """Take note of the step that the session is at."""
        if self._step is not None and self._session.is_initialized(self._step):
            self.global_step = int(self._session.run(self._step))

    def run(self, fetches: PyTree, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Compute, as `Session.run`, without hooks."""
        return self._session.run(fetches, feed_dict)

    def save(self, path_prefix: str | None = None) -> str:
        """Save a checkpoint; return its path."""
        if self.saver is None:
            raise errors.FailedPreconditionError("There is no variable to save. Make one before the session.")
        prefix = path_prefix or os.path.join(self.model_dir, _CHECKPOINT)
        return self.saver.save(self._session, prefix, global_step=self.global_step)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class ChiefSessionCreator:
    """Makes the session of a `MonitoredSession`, as `tf.train.ChiefSessionCreator`.

    Args:
        scaffold: Says how it begins.
        master: Ignored: a session computes in this process.
        config: Ignored.
        checkpoint_dir: Where a checkpoint is restored from, if one is there.
        checkpoint_filename_with_path: The checkpoint that is restored.
    """

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: object = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        del master, config
        self.scaffold = scaffold or Scaffold()
        self.checkpoint_dir = checkpoint_dir
        self._checkpoint = checkpoint_filename_with_path
        self.saver: Saver | None = None

    def finish_graph(self) -> None:
        """Add what begins a session to the graph."""
        self.saver = self.scaffold.finalize().saver

    def create_session(self) -> Session:
        """Return a session whose variables have values: a checkpoint's, or their first ones."""
        session = Session()
        found = self._checkpoint
        if found is None and self.checkpoint_dir is not None:
            found = latest_checkpoint(self.checkpoint_dir)
        if found is None or self.saver is None:
            session.run(self.scaffold.init_op)
            if self.scaffold.init_fn is not None:
                self.scaffold.init_fn(session)
        else:
            self.saver.restore(session, found)
        session.run(self.scaffold.local_init_op)
        start_queue_runners(session)
        return session


class MonitoredSession:
    """A session that calls hooks around each run, as `tf.train.MonitoredSession`.

    In a `with` block it ends where the input does, without an error.

    Args:
        session_creator: Makes the session; by default of the default graph, with first values.
        hooks: The hooks.
        stop_grace_period_secs: Ignored: no threads of its own are running.
    """

    def __init__(
        self,
        session_creator: ChiefSessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: int = 120,
        *,
        is_chief: bool = True,
    ) -> None:
        creator = session_creator or ChiefSessionCreator()
        self._hooks = list(hooks or ())
        self._is_stopped = self._is_closed = False
        graph = enter_program_graph()
        for hook in self._hooks:
            hook.begin()
        creator.finish_graph()
        self._session = creator.create_session()
        self._view = MonitoredView(
            self._session, creator.saver, creator.checkpoint_dir or "", is_chief=is_chief
        )
        for hook in self._hooks:
            hook.after_create_session(self._view, None)  # type: ignore[arg-type]
        graph.finalize()

    @property
    def graph(self) -> Graph:
        """The graph that the session computes, as `Session.graph`."""
        return self._session.graph

    def should_stop(self) -> bool:
        """Return whether a hook has asked for the end."""
        return self._is_stopped or self._is_closed

    def run(
        self,
        fetches: PyTree,
        feed_dict: Mapping[Any, Any] | None = None,
        options: object = None,
        run_metadata: object = None,
    ) -> Any:
        """Compute, as `Session.run`, with what hooks ask for.

        Raises:
            FailedPreconditionError: If it is closed.
        """
        if self._is_closed:
            raise errors.FailedPreconditionError(
                "Run called even after should_stop requested. Make a new session."
            )
        original = SessionRunArgs(fetches, feed_dict, options)
        context = SessionRunContext(original, self._view)  # type: ignore[arg-type]
        feed = dict(feed_dict or {})
        asked: dict[int, Any] = {}
        for index, hook in enumerate(self._hooks):
            wanted = hook.before_run(context)
            if isinstance(hook, ResultsHook):
                asked[index] = hook.fetches
            elif wanted is not None:
                feed.update(wanted.feed_dict or {})
                if wanted.fetches is not None:
                    asked[index] = wanted.fetches
        before = self._view.global_step
        results = self._session.run({"own": fetches, **{str(key): each for key, each in asked.items()}}, feed)
        self._view.count()
        for index, hook in enumerate(self._hooks):
            found = results.get(str(index))
            each_step = jax.tree.map(lambda value: None if value is None else np.asarray(value)[None], found)
            if isinstance(hook, ResultsHook):
                hook.receive(before, 1, each_step)
            else:
                hook.after_run(context, SessionRunValues(found, options, run_metadata, each_step))
        self._is_stopped = self._is_stopped or context.stop_requested
        return results["own"]

    def run_step_fn(self, step_fn: Any) -> Any:
        """Call a function with what runs a step, as `tf.train.MonitoredSession.run_step_fn`."""
        return step_fn(_StepContext(self))

    def close(self) -> None:
        """End the session: hooks act for the last time."""
        if self._is_closed:
            return
        self._is_closed = True
        for hook in self._hooks:
            if isinstance(hook, ResultsHook):
                hook.finish()
            hook.end(self._view)  # type: ignore[arg-type]
        self._session.close()
        self.graph.unfinalize()

    def __enter__(self) -> "MonitoredSession":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> bool:
        is_end = kind is not None and issubclass(kind, StopIteration)
        if kind is None or is_end:
            self.close()
        else:
            self._is_closed = True
            self.graph.unfinalize()
        return is_end


class _StepContext:
    def __init__(self, session: MonitoredSession) -> None:
        self.session = session._session
        self._monitored = session

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        return self._monitored.run(*args, **kwargs)

    def request_stop(self) -> None:
        self._monitored._is_stopped = True


class _Saving(SessionRunHook):
    """Saves checkpoints and writes summaries of a monitored session."""

    def __init__(
        self, folder: str, *, seconds: float | None, steps: int | None, summary_steps: int | None
    ) -> None:
        self._folder = folder
        self._seconds = seconds
        self._steps = steps
        self._summary_steps = summary_steps
        self._summary: Any = None
        self._writer: FileWriter | None = None
        self._saved_at = -1
        self._time = 0.0

    def begin(self) -> None:
        self._summary = merge_all()

    def after_create_session(self, session: Any, coord: object) -> None:
        self._save(session)
        if self._summary is not None and self._summary_steps:
            self._writer = FileWriter(self._folder)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        step = run_context.session.global_step
        is_due = self._writer is not None and self._summary_steps and step % self._summary_steps == 0
        return SessionRunArgs(self._summary) if is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        session = run_context.session
        if run_values.results is not None and self._writer is not None:
            self._writer.add_summary(run_values.results, session.global_step)
        is_late = self._seconds is not None and time.monotonic() - self._time >= self._seconds
        if is_late or (self._steps is not None and session.global_step - self._saved_at >= self._steps):
            self._save(session)

    def end(self, session: Any) -> None:
        if session.global_step != self._saved_at:
            self._save(session)
        if self._writer is not None:
            self._writer.close()

    def _save(self, session: Any) -> None:
        if self._seconds is not None or self._steps is not None:
            session.save(os.path.join(self._folder, _CHECKPOINT))
            self._saved_at, self._time = session.global_step, time.monotonic()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = None,
    save_summaries_steps: int | None = None,
    save_summaries_secs: float | None = None,
    config: object = None,
    stop_grace_period_secs: int = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: int = 7200,
    save_checkpoint_steps: int | None = None,
    summary_dir: str | None = None,
) -> MonitoredSession:
    """Return a session for training, with checkpoints and summaries, as `tf.train.MonitoredTrainingSession`.

    Args:
        master: Ignored: it computes in this process.
        is_chief: Whether this process writes files.
        checkpoint_dir: Where checkpoints are written and restored from; None for none.
        scaffold: Says how it begins.
        hooks: Hooks.
        chief_only_hooks: Hooks of the process that writes files.
        save_checkpoint_secs: Every how many seconds a checkpoint is written; 600 if nothing is given.
        save_summaries_steps: Every how many steps summaries are written; 100 if nothing is given.
        save_summaries_secs: Ignored: give steps.
        config: Ignored.
        stop_grace_period_secs: Ignored.
        log_step_count_steps: Ignored: add a `StepCounterHook`.
        max_wait_secs: Ignored.
        save_checkpoint_steps: Every how many steps a checkpoint is written, instead.
        summary_dir: Where summaries are written; by default with the checkpoints.
    """
    own: list[SessionRunHook] = []
    if is_chief and checkpoint_dir:
        by_steps = save_checkpoint_steps is not None
        seconds = save_checkpoint_secs if by_steps or save_checkpoint_secs is not None else _SAVE_SECONDS
        steps = _SUMMARY_STEPS if save_summaries_steps is None else save_summaries_steps
        own.append(_Saving(checkpoint_dir, seconds=seconds, steps=save_checkpoint_steps, summary_steps=steps))
    chief = list(chief_only_hooks or ()) if is_chief else []
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*own, *chief, *(hooks or ())], is_chief=is_chief)


class SingularMonitoredSession(MonitoredSession):
    """A monitored session without recovery, as `tf.train.SingularMonitoredSession`.

    Args:
        hooks: The hooks.
        scaffold: Says how it begins.
        master: Ignored.
        config: Ignored.
        checkpoint_dir: Where a checkpoint is restored from, if one is there.
        stop_grace_period_secs: Ignored.
        checkpoint_filename_with_path: The checkpoint that is restored.
    """

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: object = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: int = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Session:
        """Return the session, without hooks."""
        return self._session


class Supervisor:
    """Begins sessions, saves them and writes summaries, as `tf.train.Supervisor`.

    Args:
        graph: The graph; by default the default one.
        ready_op: Ignored.
        is_chief: Whether this process writes files.
        init_op: Gives variables their first values; by default all get theirs.
        init_feed_dict: What it is fed.
        local_init_op: Runs whenever a session begins.
        logdir: Where checkpoints and summaries are.
        summary_op: Ignored: give summaries to `summary_computed`.
        saver: Saves; by default all variables.
        global_step: The variable that counts steps.
        save_summaries_secs: Ignored.
        save_model_secs: Every how many seconds a checkpoint is written; 0 for never.
        checkpoint_basename: What checkpoints are called.
        init_fn: Called with a session that has first values.
        **others: TensorFlow's other arguments, which have no meaning here.

    Attributes:
        saver: Saves.
        save_path: The path of checkpoints, without the step.
    """

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: object = None,
        is_chief: bool = True,
        init_op: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = None,
        logdir: str | None = None,
        summary_op: object = None,
        saver: Saver | None = None,
        global_step: Any = None,
        save_summaries_secs: float = 120,
        save_model_secs: float = _SAVE_SECONDS,
        checkpoint_basename: str = _CHECKPOINT,
        init_fn: Any = None,
        **others: object,
    ) -> None:
        del ready_op, summary_op, save_summaries_secs, others
        self._graph = graph or enter_program_graph()
        self.is_chief = is_chief
        self._init = init_op if init_op is not None else global_variables_initializer()
        self._init_feed = init_feed_dict
        self._local = local_init_op if local_init_op is not None else local_variables_initializer()
        self._folder = logdir
        self.saver = saver or (Saver() if get_collection("variables") else None)
        self.global_step = global_step if global_step is not None else get_global_step()
        self._seconds = save_model_secs
        self._init_fn = init_fn
        self.save_path = None if logdir is None else os.path.join(logdir, checkpoint_basename)
        self._writer = FileWriter(logdir) if logdir is not None and is_chief else None
        self._is_stopped = False

    @property
    def summary_writer(self) -> FileWriter | None:
        """Writes summaries into `logdir`."""
        return self._writer

    def prepare_or_wait_for_session(
        self, master: str = "", config: object = None, **others: object
    ) -> Session:
        """Return a session whose variables have values: the last checkpoint's, or their first ones.

        Args:
            master: Ignored.
            config: Ignored.
            **others: Likewise.
        """
        session = Session(graph=self._graph)
        found = None if self._folder is None else latest_checkpoint(self._folder)
        if found is not None and self.saver is not None:
            self.saver.restore(session, found)
        else:
            session.run(self._init, self._init_feed)
            if self._init_fn is not None:
                self._init_fn(session)
        session.run(self._local)
        start_queue_runners(session)
        return session

    @contextlib.contextmanager
    def _enter_session(
        self, master: str = "", config: object = None, start_standard_services: bool = True, **others: object
    ) -> Iterator[Session]:
        """Enter a block with such a session, which is saved behind it.

        Args:
            master: Ignored.
            config: Ignored.
            start_standard_services: Ignored.
            **others: Likewise.
        """
        session = self.prepare_or_wait_for_session(master, config)
        with session:
            with contextlib.suppress(errors.OutOfRangeError):
                yield session
            self.stop()
            if self.is_chief and self.saver is not None and self.save_path is not None and self._seconds:
                self.saver.save(session, self.save_path, global_step=self.global_step)

    # TensorFlow's name of it.
    managed_session = _enter_session

    def should_stop(self) -> bool:
        """Return whether the end was asked for."""
        return self._is_stopped

    def request_stop(self, ex: object = None) -> None:
        """Have `should_stop` say that the end was asked for."""
        self._is_stopped = True

    def stop(self, threads: object = None, close_summary_writer: bool = True, **others: object) -> None:
        """End: what is written is there.

        Args:
            threads: Ignored.
            close_summary_writer: Whether the writer ends, too.
            **others: Ignored.
        """
        self._is_stopped = True
        if self._writer is not None and close_summary_writer:
            self._writer.flush()

    def summary_computed(self, sess: Session, summary: Any, global_step: int | None = None) -> None:
        """Write a summary.

        Args:
            sess: The session.
            summary: What the session gave.
            global_step: The step; by default that of the session.
        """
        if self._writer is None:
            raise errors.FailedPreconditionError("Writing a summary requires a summary writer. Pass logdir.")
        if global_step is None and self.global_step is not None:
            global_step = int(sess.run(self.global_step))
        self._writer.add_summary(summary, global_step)

    def start_queue_runners(self, sess: Session, queue_runners: object = None) -> list[Any]:
        """Return no threads: Datasets read ahead by themselves."""
        return []
