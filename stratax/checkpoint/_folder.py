"""The checkpoints of a folder, of which only complete ones count (checkpoint layer)."""

import dataclasses
import logging
import os
import pathlib
import re

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.checkpoint import _commit
from stratax.checkpoint._formats import formats
from stratax.io import local_path, unfinished

_WEIGHTS = ".weights.h5"
_logger = logging.getLogger("stratax")
# As `_commit.aside` names it.
_ASIDE = re.compile(r"^\.(.+)\.replaced$")


def latest_checkpoint(checkpoint_dir: str | os.PathLike, latest_filename: str | None = None) -> str | None:
    """Return the checkpoint of a folder that was written last, as ``tf.train.latest_checkpoint``.

    Waits for a checkpoint that this process is just writing there, or the chief of its cluster. One that is damaged is
    passed over with a warning; what was cut off while it was written is not seen at all. The files of the last one are
    read for it, once: restoring it does not read them again to check them. In a folder without any it is TensorFlow's
    last one, as its file ``checkpoint`` says, or what `Model.save_weights` has written last, for `Model.load_weights`.

    Args:
        checkpoint_dir: The folder.
        latest_filename: For TensorFlow's signature; not used: there is no file of that kind.

    Returns:
        Its path, for `Checkpoint.restore`; None if there is none.

    Raises:
        BadTypeError: If `checkpoint_dir` is no path.
        BadArgumentError: If it is a URL.
        FileAccessError: If the folder may not be read.

    Example:
        >>> latest_checkpoint("/nowhere") is None
        True
    """
    state = get_checkpoint_state(checkpoint_dir)
    return _last_weights(locate(checkpoint_dir)) if state is None else state.model_checkpoint_path


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointState:
    """The checkpoints of a folder, see :func:`get_checkpoint_state`.

    Attributes:
        model_checkpoint_path: The path of the last.
        all_model_checkpoint_paths: The paths of all, oldest first.
        all_model_checkpoint_timestamps: When each of them was written, in seconds since 1970.
    """

    model_checkpoint_path: str
    all_model_checkpoint_paths: tuple[str, ...]
    all_model_checkpoint_timestamps: tuple[float, ...]


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike, latest_filename: str | None = None
) -> CheckpointState | None:
    """Return the complete checkpoints of a folder, as ``tf.train.get_checkpoint_state``; None if there are none.

    The last one's checksums were looked at, of the others the files' sizes.

    Args:
        checkpoint_dir: The folder.
        latest_filename: For TensorFlow's signature; not used: there is no file of that kind.

    Raises:
        BadTypeError: If `checkpoint_dir` is no path.
        BadArgumentError: If it is a URL.
        FileAccessError: If the folder may not be read.

    Example:
        >>> get_checkpoint_state("/nowhere") is None
        True
    """
    folder = locate(checkpoint_dir)
    unfinished.wait_for(folder)
    found = {path: commit.saved_at for path, commit in without_damage(complete_checkpoints(folder)).items()}
    # Where a training of TensorFlow goes on here, the checkpoints of both are in one folder, and ours are newer.
    found = found or {path: kind.read_time(path) for kind in formats() for path in kind.list_folder(folder)}
    paths = tuple(os.fspath(path) for path in found)
    if not paths:
        return None
    return CheckpointState(
        model_checkpoint_path=paths[-1],
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=tuple(found.values()),
    )


def _last_weights(folder: pathlib.Path) -> str | None:
    """Return what `Model.save_weights` has written last in a folder, by the name that a program for Keras 2 gave."""
    files = [(file.stat().st_mtime_ns, os.fspath(file)) for file in folder.glob(f"*{_WEIGHTS}")]
    return max(files)[1].removesuffix(_WEIGHTS) if files else None


def checkpoint_exists(checkpoint_prefix: str | os.PathLike) -> bool:
    """Return whether there is a complete checkpoint, as ``tf.compat.v1.train.checkpoint_exists``.

    Checkpoints that TensorFlow wrote count.

    Args:
        checkpoint_prefix: Its path.

    Raises:
        BadTypeError: If it is no path.
        BadArgumentError: If it is a URL.

    Example:
        >>> checkpoint_exists("/nowhere/ckpt-1")
        False
    """
    path = locate(checkpoint_prefix)
    unfinished.wait_for(path)
    return _commit_of(path) is not None or any(kind.has(path) for kind in formats())


def complete_checkpoints(folder: pathlib.Path, name: str | None = None) -> dict[pathlib.Path, _commit.Commit]:
    """Return the complete checkpoints of a folder, in the order in which they were written.

    Args:
        folder: Where.
        name: Only those that are called so, with a number behind.

    Raises:
        FileAccessError: If the folder may not be read.
    """
    # Without a name: all but hidden folders, which are being written or removed.
    pattern = re.compile(rf"{re.escape(name)}-\d+" if name is not None else r"[^.].*")
    found = {}
    for path in _places(folder):
        if pattern.fullmatch(path.name) and (commit := _commit_of(path)) is not None:
            found[path] = commit
    # By the number in the commit: names are the user's to choose.
    return dict(sorted(found.items(), key=lambda pair: (pair[1].sequence, pair[0].name)))


def without_damage(found: dict[pathlib.Path, _commit.Commit]) -> dict[pathlib.Path, _commit.Commit]:
    """Return checkpoints without the last ones, as far as their files are not what was written.

    Args:
        found: Complete checkpoints, the last written at the end.
    """
    left = dict(found)
    for path in reversed(found):
        try:
            _commit.check_contents(_commit.locate_files(path))
            break
        except errors.FileMissingError:
            pass  # Another program has just removed it.
        except (errors.DataLossError, errors.FileAccessError) as error:
            _logger.warning("%s It is passed over.", error)
        del left[path]
    return left


def locate(path: StrPath) -> pathlib.Path:
    """Return the path of a checkpoint, or of a folder of checkpoints, in this machine's file system.

    Raises:
        BadTypeError: If it is no path.
        BadArgumentError: If it is a URL of something else.
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise errors.BadTypeError(
            f"A checkpoint's path is a string or a path, and not empty. Received: {shown(path)}."
        )
    local = local_path(os.fspath(path))
    if local is None:
        raise errors.BadArgumentError(
            "Checkpoints lie in folders, which are renamed when they are whole; that a bucket or another store can't "
            f"do. Expected: a path. Received: {shown(path)}. Mount it, or copy the checkpoints there."
        )
    return pathlib.Path(local).expanduser()


def absolute(path: StrPath) -> pathlib.Path:
    """Return a path from the root, which does not change with the working directory."""
    return pathlib.Path(os.path.abspath(locate(path)))


def _places(folder: pathlib.Path) -> set[pathlib.Path]:
    """Return what may be checkpoints, also one that is aside because a program was killed as it replaced it."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except PermissionError as error:
        raise errors.FileAccessError(
            f"The folder of checkpoints may not be read. Received: path={shown(os.fspath(folder))}. Give this user the "
            "right to read it."
        ) from error
    # A set: a checkpoint and the one that it replaces have the same name.
    return {folder / (_ASIDE.sub(r"\1", name)) for name in names}


def _commit_of(path: pathlib.Path) -> _commit.Commit | None:
    """Return what says that a checkpoint is complete; None if it is not."""
    try:
        return _commit.check_sizes(_commit.locate_files(path))
    except errors.FileMissingError:
        return None  # It is none, or another program has just removed it.
    except (errors.DataLossError, errors.FileAccessError) as error:
        _logger.warning("%s It is passed over.", error)
        return None
