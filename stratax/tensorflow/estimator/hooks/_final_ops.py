"""`FinalOpsHook`: reads variables at the end of a run (estimator layer)."""

from collections.abc import Mapping
from typing import Any

from stratax.tensorflow.estimator.hooks._session_run_hook import SessionRunHook, SessionView


class FinalOpsHook(SessionRunHook):
    """Keeps the values that variables have at the end of a run, as TensorFlow's.

    Args:
        final_ops: A variable, or a list or dict of them; None for none. What is computed of a batch has no value
            behind the last one: fetch it in `before_run` instead.
        final_ops_feed_dict: What is fed then, in a `tf.train.MonitoredSession`, which gives tensors, too. Refused at
            the end of an Estimator's run, where there are no placeholders.
    """

    def __init__(self, final_ops: object, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, in the structure of `final_ops`; None before the end."""
        return self._values

    def end(self, session: SessionView) -> None:
        """Read the variables."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)
