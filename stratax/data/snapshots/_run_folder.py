"""The folder of one writing of elements, held by its process: others can tell what is abandoned (data layer)."""

import contextlib
import fcntl
import os
import re
import uuid
import weakref

from stratax.data.files import join, local_path, make_folder, remove_folder, writing
from stratax.data.snapshots._snapshot import is_run, read_run
from stratax.errors import DataLossError


class RunFolder:
    """A new folder for a writing, held by this process until it is released or the process ends.

    First, folders of writings of this host are removed whose processes have ended before they did. Those of another
    host stay, whose locks may not be seen here; and so do those at a URL, where there are no locks.

    Args:
        path: The folder that it is made in; made if it is not there.

    Attributes:
        run: The name of the writing and of its folder.
    """

    def __init__(self, path: str) -> None:
        self.run = ""
        self._held: weakref.finalize[[int], RunFolder] | None = None
        local = local_path(path)
        if local is None:
            self.run = _new_name()
            make_folder(join(path, self.run))
            return
        make_folder(path)
        _remove_abandoned(local)
        while not self.run:
            self._make(path, _new_name())

    def _make(self, path: str, name: str) -> None:
        """Makes a folder and holds it, unless another process removes it in between."""
        make_folder(join(path, name))
        folder = os.path.join(str(local_path(path)), name)
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.stat(folder), os.fstat(held))
        except (BlockingIOError, FileNotFoundError):
            os.close(held)
            return
        except OSError:
            # A file system without locks, where nobody takes anything for abandoned.
            is_there = True
        if not is_there:
            os.close(held)
            return
        self.run = name
        self._held = weakref.finalize(self, os.close, held)

    def release(self) -> None:
        """Holds the folder no longer."""
        if self._held is not None:
            self._held()


def _new_name() -> str:
    return f"{_host()}-{os.getpid()}-{uuid.uuid4().hex}"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", os.uname().nodename) or "host"


def _remove_abandoned(path: str) -> None:
    """Removes what ended processes of this host have begun to write."""
    with writing(path):
        names = [name for name in os.listdir(path) if is_run(name) and name.rsplit("-", 2)[0] == _host()]
    for name in names:
        # Whatever can't be looked at or removed stays.
        with contextlib.suppress(OSError, DataLossError):
            _remove_if_abandoned(path, name)


def _remove_if_abandoned(path: str, name: str) -> None:
    held = os.open(os.path.join(path, name), os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Asked for only now: the one that held it may have made it the content.
        if read_run(path) != name:
            remove_folder(os.path.join(path, name))
    finally:
        os.close(held)
