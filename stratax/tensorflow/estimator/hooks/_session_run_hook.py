"""`SessionRunHook` and what it is called with (estimator layer)."""

from typing import Any, NamedTuple, Protocol


class SessionView(Protocol):
    """What hooks see of a run; it stands where TensorFlow has a session.

    Attributes:
        global_step: The number of steps done: in `before_run` without the coming dispatch, in `after_run` with it.
        steps: In `after_run`, how many steps the dispatch ran.
        is_chief: Whether this process writes files.
        model_dir: The folder of the Estimator.
        saver: What says which variables `save` saves; None for all.
    """

    @property
    def saver(self) -> Any:
        """What says which variables `save` saves; None for all."""

    @property
    def global_step(self) -> int:
        """The number of steps done."""

    @property
    def steps(self) -> int:
        """How many steps the last dispatch ran."""

    @property
    def is_chief(self) -> bool:
        """Whether this process writes files."""

    @property
    def model_dir(self) -> str:
        """The folder of the Estimator."""

    def save(self, path_prefix: str) -> str:
        """Write a checkpoint `"<path_prefix>-<step>"`; all workers call it at the same step.

        Returns:
            The checkpoint's path.
        """

    def run(self, fetches: object, feed_dict: Any = None) -> Any:
        """Return the values of variables, as NumPy arrays in the structure of `fetches`."""


class SessionRunArgs(NamedTuple):
    """What a hook asks of the coming dispatch, as `tf.estimator.SessionRunArgs`.

    Args:
        fetches: A tensor of the `model_fn`, its name (`"softmax"` or `"softmax:0"`), a variable, an operation, or a
            nested list, tuple or dict of them. Variables are read before the step's updates.
        feed_dict: What is fed, in a `tf.train.MonitoredSession`; refused by an Estimator, whose step is compiled.
        options: Ignored; TensorFlow's `RunOptions`.
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a dispatch answered, as `tf.estimator.SessionRunValues`.

    Args:
        results: NumPy values in the structure of `fetches`: those of the dispatch's last step.
        options: What was asked for in `SessionRunArgs.options`.
        run_metadata: Always None.
        each_step: The same structure, each value with an axis in front: one entry for each step of the dispatch.
    """

    results: Any
    options: Any = None
    run_metadata: Any = None
    each_step: Any = None


class SessionRunContext:
    """What a hook may know and do about a dispatch, as `tf.estimator.SessionRunContext`.

    Args:
        original_args: What the Estimator itself asks for.
        session: The session of the run.
    """

    def __init__(self, original_args: SessionRunArgs | None, session: SessionView) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs | None:
        """What the Estimator itself asks for."""
        return self._original_args

    @property
    def session(self) -> SessionView:
        """The session of the run."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook wants the run to end."""
        return self._stop_requested

    def request_stop(self) -> None:
        """End the run behind this dispatch; with several workers, all end before the same step."""
        self._stop_requested = True


class SessionRunHook:
    """Called at the joints of a run; a subclass overrides the methods that it needs.

    A hook is called once for each dispatch, which runs one step, or as many as `iterations_per_loop` says. A hook
    whose `before_run` is not overridden, or returns None, costs nothing. All workers call their hooks at the same
    steps.
    """

    def begin(self) -> None:
        """Act before the session exists, in the scope of the `model_fn` that was just traced."""

    def after_create_session(self, session: SessionView, coord: object) -> None:
        """Act once the model's variables have values.

        Args:
            session: The session.
            coord: Always None; TensorFlow's coordinator of threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return what to fetch in the coming dispatch, or None.

        Called once more where the input has ended, for the dispatch that finds no batch.

        Args:
            run_context: The dispatch; `run_context.session.global_step` steps are done.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Act behind a dispatch. Not called where it failed, or where the input had ended.

        Args:
            run_context: The dispatch; `run_context.session.global_step` counts its steps already.
            run_values: What was asked for.
        """

    def end(self, session: SessionView) -> None:
        """Act when the run has come to its end or was stopped; not called where an error ended it.

        Args:
            session: The session, which can still save and read variables.
        """
