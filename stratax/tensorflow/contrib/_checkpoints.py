"""`tf.contrib.training`: waiting for checkpoints."""

import os

from stratax.checkpoint import checkpoints_iterator
from stratax.train import latest_checkpoint


def wait_for_new_checkpoint(
    checkpoint_dir: str | os.PathLike[str],
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """Return a folder's latest checkpoint as soon as it is another one than the last.

    Args:
        checkpoint_dir: The folder, which need not be there yet.
        last_checkpoint: The last one; None for any.
        seconds_to_sleep: Ignored.
        timeout: How many seconds to wait; None for ever.

    Returns:
        The checkpoint's path; None when the time is over.
    """
    if latest_checkpoint(checkpoint_dir) == last_checkpoint is not None:
        following = checkpoints_iterator(checkpoint_dir, timeout=timeout)
        # The one that is there already comes first.
        next(following)
        return next(following, None)
    return next(checkpoints_iterator(checkpoint_dir, timeout=timeout), None)
