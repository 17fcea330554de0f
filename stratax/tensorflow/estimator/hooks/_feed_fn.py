"""`FeedFnHook`: refused (estimator layer)."""

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._session_run_hook import SessionRunHook


class FeedFnHook(SessionRunHook):
    """Refused: a compiled step takes its input from `input_fn`, and nothing can be fed to it.

    Args:
        feed_fn: TensorFlow's function that returns what to feed.

    Raises:
        BadArgumentError: Always; the message says what to do instead.
    """

    def __init__(self, feed_fn: object) -> None:
        raise errors.BadArgumentError(
            "FeedFnHook is not supported: a step is compiled with the input of input_fn, so a hook can't feed. "
            f"Received: feed_fn={shown(feed_fn)}. Have input_fn return a Dataset with these values, for example "
            "Dataset.from_generator(...) or Dataset.zip((dataset, values))."
        )
