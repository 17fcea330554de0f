"""The folder of one writing of elements, held by its process: others can tell what is abandoned (data layer)."""

import contextlib
import os
import pathlib
import re
import uuid
import weakref

from stratax.data.snapshots._snapshot import is_run, read_run
from stratax.errors import DataLossError
from stratax.io import held, join, local_path, make_folder, remove_folder, writing


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
        self._held: weakref.finalize[[], RunFolder] | None = None
        local = local_path(path)
        if local is None:
            self.run = _new_name()
            make_folder(join(path, self.run))
            return
        make_folder(path)
        _remove_abandoned(local)
        made, hold = held.make_held(lambda: _make_folder(path, str(local)))
        self.run = made.name
        self._held = weakref.finalize(self, hold.release)

    def release(self) -> None:
        """Hold the folder no longer."""
        if self._held is not None:
            self._held()


def _make_folder(path: str, local: str) -> pathlib.Path:
    name = _new_name()
    make_folder(join(path, name))
    return pathlib.Path(local, name)


def _new_name() -> str:
    return f"{_host()}-{os.getpid()}-{uuid.uuid4().hex}"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", os.uname().nodename) or "host"


def _remove_abandoned(path: str) -> None:
    """Remove what ended processes of this host have begun to write."""
    with writing(path):
        names = [name for name in os.listdir(path) if is_run(name) and name.rsplit("-", 2)[0] == _host()]
    for name in names:

        def remove(folder: str | os.PathLike, name: str = name) -> None:
            # Asked for only now: the one that held it may have made it the content.
            if read_run(path) != name:
                remove_folder(os.fspath(folder))

        # Whatever can't be looked at or removed stays.
        with contextlib.suppress(DataLossError):
            held.remove_if_abandoned(os.path.join(path, name), remove=remove)
