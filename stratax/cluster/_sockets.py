"""Where this process's local sockets lie, so that only its own user can reach them (cluster layer).

A socket in Linux' abstract name space has no permissions: every user of the machine can connect to it. One in a folder
of mode 0700 can be reached by its owner only. The folder is locked as long as its process lives; who makes the next one
removes those that nobody holds any more, which is what a process leaves behind that was killed.
"""

import atexit
import contextlib
import dataclasses
import os
import pathlib
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator

from stratax.errors import FileAccessError
from stratax.io import held

_PREFIX = "stratax-sockets-"
# Bytes that a socket's path may have: 107 on Linux, 103 on macOS.
_LONGEST_PATH = 103

# Bytes kept for the name in the folder.
_LONGEST_NAME = 32


@dataclasses.dataclass(slots=True)
class _State:
    folder: pathlib.Path | None = None
    hold: held.Hold | None = None
    process: int = 0


_state = _State()


def socket_path(role: str) -> str:
    """Return a new path for a local socket, in a folder that only this user can enter.

    Args:
        role: A short word that tells people what it is for.

    Raises:
        FileAccessError: If there is no place for the folder.
    """
    return str(_folder() / f"{role}-{secrets.token_hex(8)}")


def remove_sockets() -> None:
    """Remove this process's folder, if it has one; a process that was forked off leaves it alone."""
    if _state.folder is not None and _state.process == os.getpid():
        shutil.rmtree(_state.folder, ignore_errors=True)
        _state.folder = None
        if _state.hold is not None:
            _state.hold.release()


def remove_abandoned_sockets() -> None:
    """Remove the folders of processes of this user that were killed."""
    for parent in _places():
        _remove_stale(parent)


def _folder() -> pathlib.Path:
    # A forked process has its parent's state; sharing the folder, it would remove it at its end.
    if _state.folder is None or _state.process != os.getpid():
        if not _state.process:
            atexit.register(remove_sockets)
        _state.folder, _state.hold = _make()
        _state.process = os.getpid()
    return _state.folder


def _make() -> tuple[pathlib.Path, held.Hold]:
    refused = []
    for parent in _places():
        problem = _problem(parent)
        if not problem:
            try:
                # What killed processes left is removed here, as they could not do it themselves.
                _remove_stale(parent)
                return _make_held(parent)
            except OSError as error:
                problem = error.strerror or str(error)
        refused.append(f"{parent} ({problem})")
    raise FileAccessError(
        "There is no folder for this task's local sockets. Set TMPDIR to a folder with a short path in which only this "
        f"user, or as in /tmp everybody for himself, can make files. Tried: {'; '.join(refused)}."
    )


def _places() -> Iterator[pathlib.Path]:
    """Yield the folders to try, in order, each once."""
    with contextlib.suppress(FileNotFoundError):
        yield pathlib.Path(tempfile.gettempdir())
    # What `gettempdir` has found; the others are tried where it has too long a path or the wrong mode.
    tried = tempfile.tempdir
    for name in (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp", "/dev/shm"):
        if name and name != tried:
            yield pathlib.Path(name)


def _problem(parent: pathlib.Path) -> str:
    """Return why a folder is no place for sockets; empty if it is one."""
    length = len(os.fsencode(parent / f"{_PREFIX}xxxxxxxx")) + 1 + _LONGEST_NAME
    if length > _LONGEST_PATH:
        return f"its path is too long: a socket's may have {_LONGEST_PATH} bytes and would have {length}"
    try:
        mode = parent.stat().st_mode
    except OSError as error:
        return error.strerror or str(error)
    # Where others may rename the folder, they can put one of theirs in its place. The sticky bit forbids
    # that.
    if mode & (stat.S_IWGRP | stat.S_IWOTH) and not mode & stat.S_ISVTX:
        return "others can rename what is in it"
    return ""


def _make_held(parent: pathlib.Path) -> tuple[pathlib.Path, held.Hold]:
    return held.make_held(lambda: pathlib.Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)))


def _remove_stale(parent: pathlib.Path) -> None:
    """Remove the folders whose processes have ended without doing so."""
    for folder in parent.glob(f"{_PREFIX}*"):
        held.remove_if_abandoned(folder, owner=os.geteuid())
