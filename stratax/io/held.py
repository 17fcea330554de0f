"""Folders that a process holds while it writes, so that others can tell what is abandoned (io layer).

A folder that appears whole is written under another name first. What a killed process leaves behind has to go one day,
and what another process is just writing must stay. A lock of the operating system tells the two apart: it ends with the
process that took it, however that ended.
"""

import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
from collections.abc import Callable

# Losing the race for a new folder even a few times in a row is practically impossible.
_ATTEMPTS = 100


class Hold:
    """A lock on a folder, until it is released or this process ends.

    Args:
        descriptor: The open file that is locked; closing it releases the lock.
        is_exclusive: Whether the file system has locks. Where it has none nobody can tell what is abandoned, and
            nothing is ever removed.
    """

    def __init__(self, descriptor: int, *, is_exclusive: bool) -> None:
        self._descriptor = descriptor
        self.is_exclusive = is_exclusive

    def release(self) -> None:
        """Let go of the folder; doing so again changes nothing."""
        # Closed once: the number may belong to another file by then.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def hold(folder: str | os.PathLike, *, lock_file: str = "") -> Hold | None:
    """Lock a folder that another process may hold, or remove at any moment.

    Args:
        folder: The folder.
        lock_file: The name of the file in it that is locked, made if it is not there: network file systems lock files
            that are open for writing only. Empty: the folder itself is locked, which leaves no trace in it.

    Returns:
        The hold; None if the folder is gone.

    Raises:
        BlockingIOError: If another process holds it.
        OSError: If it can't be opened.
    """
    path = os.path.join(folder, lock_file) if lock_file else os.fspath(folder)
    # Some file systems (NFS) lock only files that are open for writing, which folders can't be.
    flags = os.O_RDWR | os.O_CREAT if lock_file else os.O_RDONLY | os.O_DIRECTORY
    try:
        # A link could lead anywhere, and its target would be created or locked.
        descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o666)
    except FileNotFoundError:
        return None
    try:
        is_exclusive = _lock(descriptor)
        # Between opening and locking, the process that held it may have removed it.
        is_there = _is_same(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    if not is_there:
        os.close(descriptor)
        return None
    return Hold(descriptor, is_exclusive=is_exclusive)


def make_held(make: Callable[[], pathlib.Path], *, lock_file: str = "") -> tuple[pathlib.Path, Hold]:
    """Make a new folder and hold it.

    Until it is locked, another process may take it for abandoned and remove it; then the next one is made.

    Args:
        make: Makes a folder of a new name each time.
        lock_file: See :func:`hold`.

    Returns:
        The folder, and the hold on it.

    Raises:
        OSError: If it can't be made, or each was removed at once.
    """
    for _ in range(_ATTEMPTS):
        folder = make()
        with contextlib.suppress(BlockingIOError):
            held = hold(folder, lock_file=lock_file)
            if held is not None:
                return folder, held
    raise OSError(errno.EAGAIN, "each new folder was removed by another process as soon as it was made")


def remove_if_abandoned(
    folder: str | os.PathLike,
    *,
    lock_file: str = "",
    owner: int | None = None,
    remove: Callable[[str | os.PathLike], object] = lambda folder: shutil.rmtree(folder, ignore_errors=True),
) -> None:
    """Remove a folder that no process holds; what can't be looked at or removed stays.

    Args:
        folder: The folder.
        lock_file: See :func:`hold`.
        owner: The user whose folders may be removed; None: any that can be.
        remove: Removes it, or finds that it has to stay after all; it is held meanwhile.
    """
    with contextlib.suppress(OSError):
        # In a shared folder others' files are none of this user's business.
        if owner is not None and os.stat(folder, follow_symlinks=False).st_uid != owner:
            return
        held = hold(folder, lock_file=lock_file)
        if held is None:
            return
        with held:
            if held.is_exclusive:
                remove(folder)


def _lock(descriptor: int) -> bool:
    """Lock an open file. Returns whether the file system has locks."""
    try:
        # `flock` and not `lockf`: the latter is lost when any descriptor of the file is closed.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    # Not supported here, as on some network file systems.
    except OSError:
        return False
    return True


def _is_same(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
