"""`FeedFnHook`: feeds each run of a session (estimator layer)."""

from collections.abc import Callable, Mapping
from typing import Any

from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
)


class FeedFnHook(SessionRunHook):
    """Feeds what a function returns, as `tf.estimator.FeedFnHook`: in a `tf.train.MonitoredSession`.

    An Estimator refuses it: a compiled step takes its input from `input_fn`, and nothing can be fed to it.

    Args:
        feed_fn: Returns what to feed, by tensor; called before each run.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return what to feed."""
        return SessionRunArgs(None, self.feed_fn())
