"""The checkpoints of a folder, of which only complete ones count (checkpoint layer)."""

import logging
import os
import pathlib
import re

from stratax.checkpoint import _store, _writer

_logger = logging.getLogger("stratax")


def latest_checkpoint(checkpoint_dir: str | os.PathLike, latest_filename: str | None = None) -> str | None:
    """The checkpoint of a folder that was written last, as ``tf.train.latest_checkpoint``.

    Waits for a checkpoint that this process is just writing. One that is not whole is passed over with a warning; what
    was cut off while it was written is not seen at all.

    Args:
        checkpoint_dir: The folder.
        latest_filename: For TensorFlow's signature; not used: there is no file of that kind.

    Returns:
        Its path, for `Checkpoint.restore`; None if there is none.

    Example:
        >>> latest_checkpoint("/nowhere") is None
        True
    """
    _writer.wait_for_all()
    found = complete_checkpoints(pathlib.Path(checkpoint_dir).expanduser())
    return os.fspath(found[-1]) if found else None


def checkpoint_exists(checkpoint_prefix: str | os.PathLike) -> bool:
    """Whether there is a complete checkpoint, as ``tf.compat.v1.train.checkpoint_exists``.

    Args:
        checkpoint_prefix: Its path.

    Example:
        >>> checkpoint_exists("/nowhere/ckpt-1")
        False
    """
    _writer.wait_for_all()
    return _store.is_complete(pathlib.Path(checkpoint_prefix).expanduser())


def complete_checkpoints(folder: pathlib.Path, name: str | None = None) -> list[pathlib.Path]:
    """The complete checkpoints of a folder, in the order in which they were written.

    Args:
        folder: Where.
        name: Only those that are called so, with a number behind.
    """
    pattern = re.compile(rf"{re.escape(name)}-\d+" if name is not None else r"[^.].*")
    found = [path.parent for path in folder.glob(f"*/{_store.COMMIT}") if pattern.fullmatch(path.parent.name)]
    complete = [path for path in found if _is_complete(path)]
    return sorted(complete, key=lambda path: (_store.sequence_of(path), path.name))


def _is_complete(path: pathlib.Path) -> bool:
    if _store.is_complete(path):
        return True
    _logger.warning("The checkpoint %r is damaged and is passed over.", os.fspath(path))
    return False
