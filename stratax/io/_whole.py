"""Small files and folders, here or at a URL, written whole or not at all (io layer)."""

import contextlib
import os
import shutil
import socket
import threading
import uuid
from collections.abc import Iterator
from typing import BinaryIO

from stratax.io._access import local_path, reading, remote_path, writing

# A file's name may have 255 bytes; the rest is for what makes it unique.
_LONGEST_PREFIX = 100


def join(folder: str, *names: str) -> str:
    """Return a path or URL below another."""
    return (
        "/".join([folder.rstrip("/") or "/", *names])
        if local_path(folder) is None
        else os.path.join(folder, *names)
    )


def read_file(name: str) -> bytes:
    """Return the content of a file, which is read whole; errors are those of :func:`reading`."""
    path = local_path(name)
    if path is not None:
        with reading(name), open(path, "rb") as file:
            return file.read()
    filesystem, inner = remote_path(name)
    with reading(name):
        return bytes(filesystem.cat_file(inner))


def open_beside(path: str, buffer_size: int = -1) -> BinaryIO:
    """Open a new file in a file's folder, under a hidden name that no pattern for that one fits; `name` tells it.

    Args:
        path: The file that it will be renamed to, on this machine.
        buffer_size: As `open` takes it.
    """
    folder, name = os.path.split(path)
    # Of a long name what fits, counted in bytes, whatever letters it is made of.
    prefix = os.fsencode(name)[:_LONGEST_PREFIX].decode(errors="ignore")
    # In the same folder, as a rename across file systems is a copy. "x": nobody else has this name.
    return open(os.path.join(folder, f".{prefix}.{uuid.uuid4().hex}.tmp"), "xb", buffering=buffer_size)


def publish(file: BinaryIO, path: str, *, replace: bool = True) -> bool:
    """Put a file from :func:`open_beside` under its name, safely on the disk; False if another may not be replaced."""
    file.flush()
    # Before the rename: else a crash may leave the new name with an empty file.
    os.fsync(file.fileno())
    file.close()
    return _place(file.name, path, replace)


def discard(file: BinaryIO) -> None:
    """Close and remove a file from :func:`open_beside`; one that was published is gone already."""
    try:
        file.close()
    except OSError:
        # What could not be written before can't be now, and is not wanted any more.
        pass
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(file.name)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file of this machine to be written, which appears whole when the block ends, or not at all."""
    file = open_beside(path)
    try:
        yield file
        publish(file, path)
    finally:
        discard(file)


@contextlib.contextmanager
def replace_file(path: str) -> Iterator[str]:
    """Yield a hidden path beside a file of this machine; what is written there takes its place when the block ends.

    The hidden name ends as the file's own, for writers that choose a format by it. What a killed process of this
    machine has left of the same file is removed.

    Args:
        path: The file; where it is a link, what it points at is replaced.
    """
    # The file that a link leads to is replaced, and the link stays.
    folder, name = os.path.split(os.path.realpath(path))
    tail = os.fsencode(name)[-_LONGEST_PREFIX:].decode(errors="ignore")
    # With the host's name: a process number says nothing on another machine of a shared file system.
    start = f".{socket.gethostname()}."
    _remove_leftovers(folder, start, f".tmp.{tail}")
    temporary = os.path.join(folder, f"{start}{os.getpid()}-{threading.get_ident()}.tmp.{tail}")
    try:
        yield temporary
        # The writer may have closed it without fsync.
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, os.path.join(folder, name))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)


def _remove_leftovers(folder: str, start: str, end: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder or "."):
            if name.startswith(start) and name.endswith(end):
                pid = name[len(start) : len(name) - len(end)].partition("-")[0]
                if pid.isdecimal() and not _is_running(int(pid)):
                    with contextlib.suppress(FileNotFoundError):
                        os.remove(os.path.join(folder, name))


def _is_running(pid: int) -> bool:
    try:
        # Signal 0 only asks.
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It runs as another user.
        return True
    return True


def write_file(name: str, content: bytes, *, replace: bool = True) -> bool:
    """Write a file atomically; return False if there is one that is not to be replaced."""
    path = local_path(name)
    if path is not None:
        with writing(name):
            return _write_local(path, content, replace=replace)
    filesystem, inner = remote_path(name)
    with writing(name):
        # Stores offer no way to create a file only if there is none; the race is theirs.
        if not replace and filesystem.exists(inner):
            return False
        filesystem.pipe_file(inner, content)
        return True


def _write_local(path: str, content: bytes, *, replace: bool) -> bool:
    file = open_beside(path)
    try:
        file.write(content)
        return publish(file, path, replace=replace)
    finally:
        discard(file)


def _place(temporary: str, path: str, replace: bool) -> bool:
    if replace:
        os.replace(temporary, path)
        return True
    try:
        # Unlike a rename it fails if the name is taken, atomically.
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        # A file system without links: two writers that end in the same moment may both replace, each by a whole file.
        if os.path.exists(path):
            return False
        os.replace(temporary, path)
    return True


def size_of(name: str) -> int:
    """Return how many bytes a file has."""
    path = local_path(name)
    if path is not None:
        with reading(name):
            return os.stat(path).st_size
    filesystem, inner = remote_path(name)
    with reading(name):
        return int(filesystem.size(inner))


def make_folder(name: str) -> None:
    """Make a folder and those above it, if they are not there."""
    path = local_path(name)
    if path is not None:
        with writing(name):
            os.makedirs(path, exist_ok=True)
        return
    filesystem, inner = remote_path(name)
    with writing(name):
        filesystem.makedirs(inner, exist_ok=True)


def remove_folder(name: str) -> None:
    """Remove a folder with what is in it, if it is there."""
    path = local_path(name)
    if path is not None:
        shutil.rmtree(path, ignore_errors=True)
        return
    filesystem, inner = remote_path(name)
    with contextlib.suppress(OSError):
        filesystem.rm(inner, recursive=True)
