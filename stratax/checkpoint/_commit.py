"""The file that makes a folder a checkpoint: the other files' sizes and checksums (checkpoint layer)."""

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import re
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

# By its name: it is imported when the attribute is first used, which a thread that writes while Python ends may not.
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import crc32c

from stratax import errors
from stratax.base.shown import shown
from stratax.io import seal_text, unseal_text

# Written last: a folder without it is no checkpoint, whatever is in it.
FILE = "commit.json"
# Raised when an older reader would misread the file.
_FORMAT = 2
# In the first one a file's checksum is its CRC32C. That of a file which ends in its own CRC32C, as OCDBT's do, is one
# constant, whatever is in the file.
_WITH_CRC = 1
# Bytes that a checksum reads at a time.
_PIECE = 1 << 22
# Hashing is bound by the processor, flushing by the disk, and large arrays lie in many files.
_THREADS = min(4, os.cpu_count() or 1)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """What stands in the commit file of a checkpoint.

    Attributes:
        sequence: The checkpoint's number among those of its folder, in the order in which they were written.
        saved_at: When it was written, in seconds since 1970.
        files: The size and the checksum of every other file, `sha256` or, of old checkpoints, `crc32c`.
    """

    sequence: int
    saved_at: float
    files: dict[str, dict[str, Any]]


# What this process has hashed, written or found whole: of each checkpoint its commit and what its files looked like.
_whole: dict[pathlib.Path, tuple[Commit, Any]] = {}
_whole_lock = threading.Lock()
_MOST_REMEMBERED = 64


def seal(
    folder: pathlib.Path, sequence: int, *, without: str, known: Mapping[str, dict[str, Any]] | None = None
) -> None:
    """Make a folder a checkpoint, when all of its files are on the disk.

    Args:
        folder: The folder.
        sequence: See `Commit`.
        without: The name of a file that does not belong to it.
        known: What :func:`describe` has given for files of other processes, which have them on the disk already.
    """
    # All but the lock, which is removed when the checkpoint is in its place.
    files = {**describe(folder, folder, without={without, *(known or ())}), **(known or {})}
    body = {
        "format": _FORMAT,
        "sequence": sequence,
        "saved_at": time.time(),
        "files": dict(sorted(files.items())),
    }
    # With a checksum of its own, as nothing else vouches for it.
    (folder / FILE).write_bytes(seal_text(body))
    flush(folder / FILE)
    flush(folder)


def describe(
    folder: pathlib.Path, below: pathlib.Path, without: Container[str] = ()
) -> dict[str, dict[str, Any]]:
    """Have the files of a checkpoint that is being written be on the disk, and return what stands of them in `Commit`.

    Args:
        folder: The checkpoint's folder.
        below: The folder in it whose files they are, and those of the folders in that.
        without: The names of files, in `folder`, that are left alone.
    """

    def describe_file(path: pathlib.Path) -> dict[str, Any]:
        # The hash first: what is flushed is then on its way to the disk already.
        entry = {"size": path.stat().st_size, "sha256": _sha256(path)}
        flush(path)
        return entry

    paths = {path.relative_to(folder).as_posix(): path for path in sorted(below.rglob("*")) if path.is_file()}
    own = {name: path for name, path in paths.items() if name not in without}
    files = dict(zip(own, _on_threads(describe_file, own.values()), strict=True))
    for path in (below, *below.rglob("*")):
        # A file's name is on the disk when its folder is: fsync of the file alone does not promise it.
        if path.is_dir():
            flush(path)
    return files


def locate_files(folder: pathlib.Path) -> pathlib.Path:
    """Return where the files of a checkpoint are: in its folder, or aside if a program was killed as it replaced it.

    Raises:
        NoCheckpointError: If there is none.
        FileAccessError: If it may not be read.
    """
    with _reading(folder, FILE):
        if (folder / FILE).exists():
            return folder
    # A program that was killed between two renames has left the old one aside.
    if not folder.exists() and is_complete(aside(folder)):
        return aside(folder)
    raise errors.NoCheckpointError(
        f"There is no checkpoint to read: {_find_fault(folder)}. Expected: what Checkpoint.save or latest_checkpoint "
        f"returned. Received: path={shown(os.fspath(folder))}.",
        filename=os.fspath(folder),
    )


def _find_fault(folder: pathlib.Path) -> str:
    """Return what is wrong with a path at which there is no checkpoint."""
    if folder.exists():
        return "what is at this path is none, or not a whole one"
    try:
        beside = sorted(path.name for path in folder.parent.iterdir())
    except OSError:
        return f"no file or folder has this path, and {shown(os.fspath(folder.parent))} can't be read"
    # TensorFlow's checkpoints are files `prefix.index` and `prefix.data-*`.
    if f"{folder.name}.index" in beside:
        return (
            "this is one of TensorFlow's, which can't be read into objects; load_checkpoint reads its arrays, and "
            "`stratax convert checkpoint` makes one of Stratax of it"
        )
    if any(name.startswith(f"{folder.name}.data-") for name in beside):
        return f"of TensorFlow's files of this name {folder.name}.index is missing"
    numbered = [name for name in beside if re.fullmatch(rf"{re.escape(folder.name)}-\d+", name)]
    if numbered:
        return f"no file or folder has this path. Its number is missing: there is {shown(numbered[-1])}"
    return "no file or folder has this path"


def aside(folder: pathlib.Path) -> pathlib.Path:
    """Return where a checkpoint is for the moment in which another takes its place."""
    return folder.with_name(f".{folder.name}.replaced")


def read(folder: pathlib.Path) -> Commit:
    """Read the commit file.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it may not be read.
        DataLossError: If it is damaged.
    """
    with _reading(folder, FILE):
        content = (folder / FILE).read_bytes()
    commit = _parse(content)
    if commit is None:
        raise _make_damage_error(folder, FILE, "it is not what was written")
    return commit


def is_complete(folder: pathlib.Path) -> bool:
    """Return whether there is a checkpoint of which every file has the size that it had when it was written."""
    try:
        check_sizes(folder)
    except errors.StrataxError:
        return False
    return True


def check_sizes(folder: pathlib.Path) -> Commit:
    """Read the commit file, and check that every file has the size that it had when it was written.

    Raises:
        FileMissingError: If there is no commit file (any more).
        FileAccessError: If a file may not be read.
        DataLossError: If the checkpoint is damaged.
    """
    commit = read(folder)
    for name, file in commit.files.items():
        with _reading(folder, name):
            size = (folder / name).stat().st_size
        if size != file["size"]:
            raise _make_damage_error(folder, name, f"it has {size} bytes instead of {file['size']}")
    return commit


def check_contents(folder: pathlib.Path) -> None:
    """Check that all of a checkpoint is as it was written.

    Raises:
        FileMissingError: If there is no commit file (any more).
        FileAccessError: If a file may not be read.
        DataLossError: If the checkpoint is damaged.
    """
    commit = check_sizes(folder)
    seen = commit, _looks_of(folder, commit)
    with _whole_lock:
        if _whole.get(folder) == seen:
            return

    def check(name: str) -> None:
        kind = "sha256" if "sha256" in commit.files[name] else "crc32c"
        with _reading(folder, name):
            checksum = _CHECKSUMS[kind](folder / name)
        if checksum != commit.files[name][kind]:
            raise _make_damage_error(folder, name, "its checksum is wrong")

    _on_threads(check, commit.files)
    with _whole_lock:
        _whole.pop(folder, None)
        _whole[folder] = seen
        while len(_whole) > _MOST_REMEMBERED:
            del _whole[next(iter(_whole))]


def _looks_of(folder: pathlib.Path, commit: Commit) -> Any:
    """Return what changes with the files of a checkpoint, so that they need not be hashed once more."""
    looks = []
    for name in commit.files:
        with _reading(folder, name):
            status = (folder / name).stat()
        looks.append((status.st_ino, status.st_dev, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return looks


def _on_threads(function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
    """Return what a function gives for each item; the first error."""
    wanted = list(items)
    try:
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="stratax-checksum") as threads:
            return list(threads.map(function, wanted))
    except RuntimeError as error:
        # At the end of the program the executor takes no calls; from Python 3.12 on no thread starts there, either.
        if "interpreter shutdown" not in str(error):
            raise
    return [function(item) for item in wanted]


def flush(path: pathlib.Path) -> None:
    """Have the disk hold what was written to a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _reading(folder: pathlib.Path, name: str) -> Iterator[None]:
    """Tell why a file of a checkpoint can't be read."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        # Gone as a whole: removed, not damaged.
        if name == FILE or not (folder / FILE).exists():
            raise errors.FileMissingError(
                f"There is no checkpoint (any more). Received: path={shown(os.fspath(folder))}."
            ) from error
        raise _make_damage_error(folder, name, "it is missing") from error
    except PermissionError as error:
        raise errors.FileAccessError(
            f"The checkpoint may not be read. Received: path={shown(os.fspath(folder / name))}. Give this user "
            "the right "
            "to read it, and to enter the folders that it is in."
        ) from error
    except OSError as error:
        raise _make_damage_error(folder, name, f"the disk says: {error.strerror}") from error


def _parse(content: bytes) -> Commit | None:
    for number in (_FORMAT, _WITH_CRC):
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            found = unseal_text(content, format=number)
            del found["format"]
            return Commit(**found)
    return None


def _make_damage_error(folder: pathlib.Path, name: str, why: str) -> errors.DataLossError:
    return errors.DataLossError(
        f"A checkpoint is damaged: of the file {shown(name)}, {why}. Restore an earlier one. "
        f"Received: path={shown(os.fspath(folder))}.",
        filename=os.fspath(folder / name),
    )


def _sha256(path: pathlib.Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _crc32c(path: pathlib.Path) -> int:
    value = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            value = crc32c.crc32c(piece, value)
    return value


_CHECKSUMS: dict[str, Callable[[pathlib.Path], object]] = {"sha256": _sha256, "crc32c": _crc32c}
