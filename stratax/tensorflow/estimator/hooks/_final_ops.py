"""`FinalOpsHook`: reads variables at the end of a run (estimator layer)."""

from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._session_run_hook import SessionRunHook, SessionView


class FinalOpsHook(SessionRunHook):
    """Keeps the values that variables have at the end of a run, as TensorFlow's.

    Args:
        final_ops: A variable, or a list or dict of them; None for none. What is computed of a batch has no value
            behind the last one: fetch it in `before_run` instead.
        final_ops_feed_dict: Refused: there is nothing to be fed.

    Raises:
        BadArgumentError: If something is to be fed.
    """

    def __init__(self, final_ops: object, final_ops_feed_dict: object = None) -> None:
        if final_ops_feed_dict:
            raise errors.BadArgumentError(
                "final_ops_feed_dict is not supported: there are no placeholders behind a run. "
                f"Received: final_ops_feed_dict={shown(final_ops_feed_dict)}. Leave it out."
            )
        self._final_ops = final_ops
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of `final_ops`; None before the end."""
        return self._values

    def end(self, session: SessionView) -> None:
        """Read the variables."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops)
