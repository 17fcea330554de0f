"""`CheckpointSaverListener`: what is told before and after a checkpoint is saved (estimator layer)."""

from stratax.tensorflow.estimator.hooks._session_run_hook import SessionView


class CheckpointSaverListener:
    """Told of checkpoints, as `tf.estimator.CheckpointSaverListener`; a subclass overrides the methods that it needs.

    All workers tell their listeners of the same steps.
    """

    def begin(self) -> None:
        """Act before the session exists."""

    def before_save(self, session: SessionView, global_step_value: int) -> None:
        """Act before a checkpoint is saved.

        Args:
            session: The session.
            global_step_value: The number of steps done.
        """

    def after_save(self, session: SessionView, global_step_value: int) -> bool | None:
        """Act after a checkpoint was saved.

        Args:
            session: The session.
            global_step_value: The number of steps done.

        Returns:
            True to end the training.
        """
        return None

    def end(self, session: SessionView, global_step_value: int) -> None:
        """Act at the end of the run, after the last checkpoint.

        Args:
            session: The session.
            global_step_value: The number of steps done.
        """
