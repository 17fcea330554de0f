"""Files and folders, here or at a URL, under the names of `tf.io.gfile` (io layer).

`stratax.tf.io` is their door; they are fsspec's, with TensorFlow's names and meaning and the family's errors.
"""

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.errors import AlreadyExistsError, BadArgumentError, BadTypeError
from stratax.io import _whole as _whole_files
from stratax.io import unfinished
from stratax.io._access import (
    as_file_name,
    file_missing,
    is_directory,
    local_path,
    reading,
    remote_path,
    writing,
)
from stratax.io._glob import glob

_MODES = frozenset({"r", "rb", "w", "wb", "a", "ab", "r+", "rb+", "w+", "wb+", "a+", "ab+"})


def read_file(filename: StrPath, name: str | None = None) -> bytes:
    """Return the content of a file, as `tf.io.read_file`.

    Args:
        filename: A path or URL; also `bytes`, as the functions of a pipeline get it.
        name: For TensorFlow's signature; not used.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it can't be read.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "new folder", "a.txt")
        >>> write_file(path, "text")
        >>> read_file(path)
        b'text'
    """
    return _whole_files.read_file(_settle_path(filename))


def write_file(filename: StrPath, contents: str | bytes, name: str | None = None) -> None:
    """Write a file atomically, and make its parent folders, as `tf.io.write_file`.

    Args:
        filename: A path or URL.
        contents: What is in it; text is written in UTF-8.
        name: For TensorFlow's signature; not used.

    Raises:
        BadTypeError: If `contents` is neither text nor bytes.
        FileAccessError: If it can't be written.
    """
    if not isinstance(contents, str | bytes):
        raise BadTypeError(f"contents must be str or bytes. Received: contents={shown(contents)}.")
    path = as_file_name(filename)
    if folder := os.path.dirname(path):
        _whole_files.make_folder(folder)
    _whole_files.write_file(path, contents.encode() if isinstance(contents, str) else contents)


class FileStatistics(NamedTuple):
    """What :func:`stat` returns.

    Attributes:
        length: The size in bytes.
        mtime_nsec: When it was changed, in nanoseconds since 1970.
        is_directory: Whether it is a folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


class GFile:
    """A file that is read or written from front to back, as `tf.io.gfile.GFile`.

    It is opened at the first use. What is written stands in the file at once, or when it is closed, as the file system
    has it.

    Args:
        name: A path or URL.
        mode: As of `open`: "r" for text in UTF-8, "rb" for bytes, and "w", "a", "+" likewise.

    Raises:
        BadArgumentError: If the mode is another one.
        FileMissingError: At the first use, if there is no such file.
        FileAccessError: At the first use, if it can't be read or written.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "lines.txt")
        >>> with GFile(path, "w") as file:
        ...     file.write("one" + os.linesep + "two")
        >>> [line.strip() for line in GFile(path)], GFile(path).size()
        (['one', 'two'], 7)
    """

    def __init__(self, name: object, mode: str = "r") -> None:
        if mode not in _MODES:
            raise BadArgumentError(
                f"mode is 'r', 'w' or 'a', with 'b' for bytes and '+' for both. Received: mode={shown(mode)}."
            )
        self.name = as_file_name(name)
        self.mode = mode
        # As TensorFlow does: a missing file is an error of the first use.
        self._opened: IO[Any] | None = None

    def __enter__(self) -> "GFile":
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __iter__(self) -> "GFile":
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def read(self, n: int = -1) -> Any:
        """Return up to `n` bytes or letters; all that is left for -1."""
        with reading(self.name):
            return self._file().read(n)

    def readline(self) -> Any:
        """Read the next line, with its end but without carriage returns; empty behind the last one."""
        with reading(self.name):
            line = self._file().readline()
        # `line[:0]` is the empty text or the empty bytes, as the line is.
        return line.replace(b"\r" if "b" in self.mode else "\r", line[:0])

    def readlines(self) -> list[Any]:
        """Return all lines that are left, with their ends."""
        return list(self)

    def write(self, file_content: str | bytes) -> None:
        """Write text, in UTF-8, or bytes, whatever the mode says."""
        if not isinstance(file_content, str | bytes):
            raise BadTypeError(
                f"file_content must be str or bytes. Received: file_content={shown(file_content)}."
            )
        with writing(self.name):
            file = self._file()
            if "b" not in self.mode and isinstance(file_content, bytes):
                # Bytes go past the text layer, whose buffer has to come before them.
                file.flush()
                file = file.buffer
            elif "b" in self.mode and isinstance(file_content, str):
                file_content = file_content.encode()
            file.write(file_content)

    def seek(self, offset: int, whence: int = 0) -> None:
        """Go to a place: from the beginning (`whence` 0), from here (1) or from the end (2)."""
        self._file().seek(offset, whence)

    def tell(self) -> int:
        """Return the place, in bytes from the beginning."""
        return int(self._file().tell())

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self.name).length

    def flush(self) -> None:
        """Hand on what was written."""
        if self._opened is not None:
            with writing(self.name):
                self._opened.flush()

    def close(self) -> None:
        """End the use of the file. A file that is written is there even if nothing was."""
        # Opening it for writing creates it.
        if self._opened is None and self.mode[0] == "w":
            self._file()
        opened, self._opened = self._opened, None
        if opened is not None:
            with writing(self.name):
                opened.close()

    def _file(self) -> Any:
        if self._opened is None:
            with (reading if self.mode[0] == "r" else writing)(self.name):
                raw = _open(_settle_path(self.name), self.mode.replace("b", "") + "b")
            # `newline="\n"`: nothing is translated, so that positions are those of the bytes.
            self._opened = raw if "b" in self.mode else io.TextIOWrapper(raw, "utf-8", newline="\n")
        return self._opened


def _open(name: str, mode: str) -> IO[Any]:
    """Open a file with the store's own function, or the system's: fsspec asks for a size, which not every file has."""
    filesystem, path = remote_path(name)
    if local_path(name) is not None:
        return open(path, mode)
    opened: IO[Any] = filesystem.open(path, mode)
    return opened


def exists(path: StrPath) -> bool:
    """Return whether there is a file or folder, as `tf.io.gfile.exists`."""
    name = _settle_path(path)
    if not name:  # For fsspec an empty name is that of the current folder.
        return False
    filesystem, inner = remote_path(name)
    return bool(filesystem.exists(inner))


def isdir(path: StrPath) -> bool:
    """Return whether there is a folder, as `tf.io.gfile.isdir`."""
    name = _settle_path(path)
    filesystem, inner = remote_path(name)
    return bool(name) and bool(filesystem.isdir(inner))


def listdir(path: StrPath) -> list[str]:
    """Return the names of what is in a folder, sorted, as `tf.io.gfile.listdir`.

    Raises:
        FileMissingError: If there is no such folder.
    """
    name = _settle_path(path)
    if not isdir(name):
        raise file_missing(name)
    filesystem, inner = remote_path(name)
    with reading(name):
        return sorted(found.rstrip("/").rpartition("/")[2] for found in filesystem.ls(inner, detail=False))


def walk(
    top: Any, topdown: bool = True, onerror: Callable[[Exception], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Return what is in a folder and in those below it, as `tf.io.gfile.walk`: each folder, its folders and its files.

    Links to folders are followed.

    Args:
        top: The folder.
        topdown: Whether a folder comes before those that are in it.
        onerror: What is called with an error; without it, what can't be read is left out.
    """
    name = _settle_path(top)
    local = local_path(name)
    if local is not None:
        for folder, folders, files in os.walk(local, topdown, onerror, followlinks=True):
            folders.sort()  # In place: it is the order in which they are gone through, too.
            yield name + folder.removeprefix(local), folders, sorted(files)
        return
    if not isdir(name):
        return
    filesystem, inner = remote_path(name)
    for folder, folders, files in filesystem.walk(inner, topdown=topdown, on_error=onerror or "omit"):
        yield name.rstrip("/") + folder.removeprefix(inner.rstrip("/")), sorted(folders), sorted(files)


def stat(path: StrPath) -> FileStatistics:
    """Return the size of a file and when it was changed, as `tf.io.gfile.stat`.

    Raises:
        FileMissingError: If there is none.
    """
    name = _there(path)
    filesystem, inner = remote_path(name)
    with reading(name):
        info = filesystem.info(inner)
        is_folder = info["type"] == "directory"
        # Stores have no folders, and so no time of their changes.
        changed = 0.0 if is_folder and local_path(name) is None else filesystem.modified(inner).timestamp()
    return FileStatistics(int(info["size"] or 0), int(changed * 1e9), is_folder)


def mkdir(path: StrPath) -> None:
    """Make a folder in one that exists, as `tf.io.gfile.mkdir`; do nothing if the folder itself exists.

    Raises:
        AlreadyExistsError: If a file of this name is there.
        FileMissingError: If the folder that it is to be in is not there.
        FileAccessError: If it can't be made.
    """
    name = as_file_name(path)
    if isdir(name):
        return
    _check_free(name, "Remove it, or name the folder otherwise.")
    filesystem, inner = remote_path(name)
    with writing(name):
        filesystem.mkdir(inner, create_parents=False)


def makedirs(path: StrPath) -> None:
    """Make a folder and those above it, if they are not there, as `tf.io.gfile.makedirs`.

    Raises:
        FileAccessError: If it can't be made.
    """
    _whole_files.make_folder(as_file_name(path))


def remove(path: StrPath) -> None:
    """Remove a file, as `tf.io.gfile.remove`.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is a folder.
        FileAccessError: If it can't be removed.
    """
    name = _there(path)
    # A link to a folder is removed as the link that it is.
    if isdir(name) and not _is_link(name):
        raise is_directory(name)
    filesystem, inner = remote_path(name)
    with writing(name):
        filesystem.rm_file(inner)


def rmtree(path: StrPath) -> None:
    """Remove a folder with all that is in it, as `tf.io.gfile.rmtree`.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it can't be removed.
    """
    name = _there(path)
    filesystem, inner = remote_path(name)
    with writing(name):
        filesystem.rm(inner, recursive=True)


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file, also from one file system to another, as `tf.io.gfile.copy`.

    Args:
        src: Which.
        dst: Its new path or URL.
        overwrite: Whether a file that is there is replaced.

    Raises:
        AlreadyExistsError: If there is one that is not to be replaced.
        FileMissingError: If there is no such file.
        FileAccessError: If it can't be read or written.
    """
    source, target = _settle_path(src), _settle_path(dst)
    if not overwrite:
        _check_free(target, "Pass overwrite=True to replace it.")
    with reading(source):
        file = _open(source, "rb")
    # The source is open before the target is touched.
    with file, writing(target), _new(target) as new:
        shutil.copyfileobj(file, new)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another path, as `tf.io.gfile.rename`.

    Args:
        src: Which.
        dst: Its new path or URL, in the same file system.
        overwrite: Whether a file that is there is replaced.

    Raises:
        AlreadyExistsError: If there is one that is not to be replaced.
        FileMissingError: If there is no such file.
        FileAccessError: If it can't be renamed.
    """
    source, target = _there(src), _settle_path(dst)
    if not overwrite:
        _check_free(target, "Pass overwrite=True to replace it.")
    here, there = local_path(source), local_path(target)
    with writing(target):
        if here is not None and there is not None:
            # Atomic, which a store's copy and removal are not.
            os.replace(here, there)
            return
        filesystem, inner = remote_path(source)
        filesystem.mv(inner, remote_path(target)[1], recursive=isdir(source))


def join(path: str, *paths: str) -> str:
    """Return a path or URL below another, as `tf.io.gfile.join`."""
    return _whole_files.join(path, *paths)


def _settle_path(path: StrPath) -> str:
    """Return the name of a file or folder, once this process has written what it is just writing there."""
    name = as_file_name(path)
    if (local := local_path(name)) is not None:
        unfinished.wait_for(local)
    return name


def _there(path: StrPath) -> str:
    """Return the name of a file, folder or link that is there.

    Raises:
        FileMissingError: If there is none.
    """
    name = _settle_path(path)
    # A link to nothing does not exist, and can be removed.
    if not (exists(name) or _is_link(name)):
        raise file_missing(name)
    return name


def _is_link(name: str) -> bool:
    local = local_path(name)
    return local is not None and os.path.islink(local)


def _new(name: str) -> contextlib.AbstractContextManager[Any]:
    path = local_path(name)
    if path is not None:
        return _whole_files.new_file(path)
    filesystem, inner = remote_path(name)
    return contextlib.closing(filesystem.open(inner, "wb"))


def _check_free(name: str, fix: str) -> None:
    if exists(name):
        raise AlreadyExistsError(
            f"There is a file or folder of this name. Received: filename={shown(name)}. {fix}", filename=name
        )


def matching_files(pattern: object, name: str | None = None) -> list[bytes]:
    """Return the paths that fit a pattern, or one of several, sorted, as `tf.io.matching_files`.

    Args:
        pattern: See `glob`.
        name: For TensorFlow's signature; not used.
    """
    return [os.fsencode(path) for path in glob(pattern)]
