"""How a checkpoint lies in files: written whole or not at all, and checked when it is read (checkpoint layer).

A checkpoint is a folder: the arrays in chunks, what else there is as JSON, and last the commit file. It is made under a
hidden name and renamed when all of it is on the disk.
"""

import contextlib
import dataclasses
import errno
import json
import os
import pathlib
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _arrays, _commit, _together
from stratax.core.storage import Bounds, HostParts
from stratax.io import held

_INDEX = "index.json"
_ARRAYS = "arrays"
_LOCK = "lock"
# All that a checkpoint's folder may have; anything else in it is somebody's data.
_OWN = frozenset({_commit.FILE, _INDEX, _ARRAYS, _LOCK})
# How often a checkpoint is put in its place while another program does the same.
_PLACE_ATTEMPTS = 10
# How often reading begins anew when another program replaces the checkpoint meanwhile.
_READ_ATTEMPTS = 3
# How much of another library's error a message quotes, in characters.
_LONGEST_REASON = 500
_CLEAR_ATTEMPTS = 20
# One second in all for TensorStore's threads to end their writes.
_CLEAR_PAUSE_SECONDS = 0.05


class CheckpointReplacedError(errors.FileMissingError):
    """The checkpoint that was being read is not there any more."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """All that a checkpoint holds, on the host.

    Attributes:
        arrays: The variables' values, by key path; of those that devices have in parts what this process has.
        names: The variables' own names, for messages.
        aliases: Further key paths, see `Graph`.
        inputs: The positions of input by key path: one for each process, or one if all are equal.
        random: The states of the global random generators, likewise; None if they were not asked for.
    """

    arrays: Mapping[str, np.ndarray | HostParts]
    names: dict[str, str]
    aliases: dict[str, str]
    inputs: dict[str, list[dict[str, Any]]]
    random: list[dict[str, Any]] | None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """What stands in a checkpoint, without the arrays' values.

    Attributes:
        folder: The checkpoint.
        commit: Which of those that were written to this path it is.
        shapes: The arrays' shapes.
        dtypes: Their dtypes.
        names: The names that the variables had.
        aliases: Further key paths.
        inputs: The positions of input.
        random: The states of the random generators.
    """

    folder: pathlib.Path
    commit: _commit.Commit
    shapes: dict[str, tuple[int, ...]]
    dtypes: dict[str, str]
    names: dict[str, str]
    aliases: dict[str, str]
    inputs: dict[str, list[dict[str, Any]]]
    random: list[dict[str, Any]] | None


def write(folder: pathlib.Path, contents: Contents, together: _together.PartsOfAll | None = None) -> None:
    """Write a checkpoint, in the place of one that is there.

    Args:
        folder: Where to.
        contents: What.
        together: What the tasks say to each other where each writes parts of arrays; None where this task has all.

    Raises:
        CheckpointError: If it can't be written, or something else than a checkpoint is at `folder`; what was there
            before is still there, unchanged.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _check_place(folder)
        # Here and not at the start of a program: only who writes knows which names are its own.
        remove_stale(folder)
        with _make_hidden_folder(folder) as hidden:
            theirs = _fill(hidden, contents, together)
            _commit.seal(hidden, _next_sequence(folder.parent), without=_LOCK, known=theirs)
            # The lock goes last: whoever finds a hidden folder without one may remove it.
            _put_in_place(hidden, folder)
            (folder / _LOCK).unlink(missing_ok=True)
    except Exception as error:
        if together is not None:
            together.fail(error)
        raise errors.CheckpointError(
            f"The checkpoint could not be written; one that was there before is unchanged, and so is the state of "
            f"the program. Received: path={shown(os.fspath(folder))}, which gave {_first_line(error)}. Make "
            "room or choose "
            "another folder, and save again."
        ) from error


def write_parts(arrays: Mapping[str, np.ndarray | HostParts], together: _together.PartsOfAll) -> None:
    """Write this task's parts of arrays into the checkpoint that the chief makes.

    Args:
        arrays: The arrays of which no task has all.
        together: What the tasks say to each other.

    Raises:
        CheckpointError: If they can't be written here, or the chief could not make the folder.
    """
    hidden = together.receive()
    try:
        process = _together.process_index()
        _arrays.write(hidden / _ARRAYS, arrays, process)
        own = _commit.describe(hidden, hidden / _ARRAYS / _arrays.folder_of(process))
    except Exception as error:
        together.fail(error)
        raise
    together.collect(own)


def read_index(folder: pathlib.Path) -> Index:
    """Read what a checkpoint holds, after checking that all of it is as it was written.

    Args:
        folder: The checkpoint.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
    """
    for _ in range(_READ_ATTEMPTS - 1):
        # Another program may put the next one in its place in this moment.
        with contextlib.suppress(errors.FileMissingError):
            return _read_index(folder)
    return _read_index(folder)


def read_arrays(
    index: Index, keys: Iterable[str], parts: Mapping[str, Sequence[Bounds]] | None = None
) -> dict[str, Any]:
    """Read arrays of a checkpoint onto the host.

    Args:
        index: The checkpoint.
        keys: Which.
        parts: Where the parts lie that are read of an array, by its key; the others are read whole.

    Returns:
        The arrays, by key; `HostParts` of those in `parts`.

    Raises:
        CheckpointReplacedError: If another one was written to its path meanwhile, or it was removed.
    """
    wanted = list(keys)
    # Without elements there is nothing to store, see `_fill`.
    empty = {
        key: np.zeros(index.shapes[key], dtype_of(index.dtypes[key]))
        for key in wanted
        if _is_empty(index, key)
    }
    rest = {key: (parts or {}).get(key) for key in wanted if key not in empty}
    if not rest:
        return empty
    with _check_unchanged(index.folder, index.commit):
        try:
            return empty | _arrays.read(index.folder / _ARRAYS, rest)
        except ValueError as error:
            # What TensorStore says of files that are not one checkpoint's; their checksums were right a moment ago.
            raise errors.DataLossError(
                f"The arrays of a checkpoint can't be read: {_first_line(error)}. Restore an earlier one. Received: "
                f"path={shown(os.fspath(index.folder))}."
            ) from error


def _read_index(folder: pathlib.Path) -> Index:
    located = _commit.locate_files(folder.absolute())
    commit = _commit.read(located)
    with _check_unchanged(located, commit):
        _commit.check_contents(located)
        found = json.loads((located / _INDEX).read_text())
    shapes = {key: tuple(shape) for key, shape in found.pop("shapes").items()}
    return Index(folder=located, commit=commit, shapes=shapes, **found)


@contextlib.contextmanager
def _check_unchanged(folder: pathlib.Path, commit: _commit.Commit) -> Iterator[None]:
    """Check that what is read in a block is of one checkpoint: another process may replace it meanwhile."""
    failure: Exception | None = None
    try:
        yield
    except Exception as error:
        # Judged below: an error while reading may be no damage, but the checkpoint's removal.
        failure = error
    if not _is_there(folder, commit):
        raise CheckpointReplacedError(
            "The checkpoint was replaced or removed after it was opened. Open it again; a manager's max_to_keep says "
            f"how many are kept. Received: path={shown(os.fspath(folder))}."
        ) from failure
    if failure is not None:
        raise failure


def _is_there(folder: pathlib.Path, commit: _commit.Commit) -> bool:
    try:
        return _commit.read(folder) == commit
    except errors.FileMissingError:
        return False


def remove(folder: pathlib.Path) -> None:
    """Remove a checkpoint: at once as far as readers can tell."""
    hidden = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.removed")
    with contextlib.suppress(FileNotFoundError):
        # Renaming is atomic; the removal itself is not, and readers would see half a checkpoint.
        folder.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)


def remove_stale(folder: pathlib.Path) -> None:
    """Remove what processes that were killed while they wrote here, or removed something, have left behind.

    Args:
        folder: A checkpoint's place. What belongs to other numbers of the same name is removed too.
    """
    # The names that `_make_hidden_folder` and `remove` make; eight digits are the four bytes of `token_hex`.
    # Of all numbers of this name: who saves `ckpt-7` also clears what `ckpt-6` left.
    stem = re.escape(re.sub(r"-\d+$", "", folder.name))
    pattern = re.compile(rf"\.{stem}(-\d+)?\.[0-9a-f]{{8}}\.(writing|removed)")
    for found in list(folder.parent.glob(".*")):
        match = pattern.fullmatch(found.name)
        if match and match[2] == "removed":
            # Removed on purpose already; nobody needs it, locked or not.
            shutil.rmtree(found, ignore_errors=True)
        elif match:
            held.remove_if_abandoned(found, lock_file=_LOCK)


def _clear(hidden: pathlib.Path) -> None:
    """Remove what was written; TensorStore's threads may still be writing when one of them has failed."""
    for _ in range(_CLEAR_ATTEMPTS):
        shutil.rmtree(hidden, ignore_errors=True)
        if not hidden.exists():
            return
        time.sleep(_CLEAR_PAUSE_SECONDS)


def _fill(
    hidden: pathlib.Path, contents: Contents, together: _together.PartsOfAll | None
) -> dict[str, dict[str, Any]]:
    """Write all but the commit file; return what the other tasks say of the files that they have written."""
    theirs: dict[str, dict[str, Any]] = {}
    full = {key: array for key, array in contents.arrays.items() if array.size}
    if full:
        if together is None:
            _arrays.write(hidden / _ARRAYS, full)
        else:
            together.send(hidden)
            _arrays.write(hidden / _ARRAYS, full, _together.process_index())
            theirs = together.collect({})
            _arrays.merge(hidden / _ARRAYS)
    index = {
        "shapes": {key: list(array.shape) for key, array in contents.arrays.items()},
        "dtypes": {key: str(array.dtype) for key, array in contents.arrays.items()},
        "names": contents.names,
        "aliases": contents.aliases,
        "inputs": contents.inputs,
        "random": contents.random,
    }
    # Without fsync: `seal` flushes all files.
    (hidden / _INDEX).write_text(json.dumps(index, indent=1))
    return theirs


def _check_place(folder: pathlib.Path) -> None:
    """Refuse to put a checkpoint in the place of something else, which would be lost."""
    # A folder with our files only may be a checkpoint whose removal was cut short.
    if not folder.exists() or (folder.is_dir() and set(os.listdir(folder)) <= _OWN):
        return
    try:
        _commit.read(folder)
    except errors.StrataxError:
        raise FileExistsError("what is there is no checkpoint, and would be lost") from None


def _put_in_place(hidden: pathlib.Path, folder: pathlib.Path) -> None:
    aside = _commit.aside(folder)
    for attempt in range(_PLACE_ATTEMPTS):
        # A folder can't be renamed onto one that has files: the old one goes aside first.
        if folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
            # Another program may have moved it aside first.
            with contextlib.suppress(FileNotFoundError):
                folder.rename(aside)
        try:
            hidden.rename(folder)
            break
        except OSError as error:
            # Another program may have put its own there in this moment.
            if error.errno == errno.ENOTEMPTY and attempt < _PLACE_ATTEMPTS - 1:
                continue
            if aside.exists() and not folder.exists():
                # The old checkpoint comes back: better than none.
                aside.rename(folder)
            raise
    # The rename itself has to be on the disk before the old checkpoint goes.
    _commit.flush(folder.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _next_sequence(parent: pathlib.Path) -> int:
    found = [0]
    for path in parent.glob(f"*/{_commit.FILE}"):
        with contextlib.suppress(errors.StrataxError):
            found.append(_commit.read(path.parent).sequence)
    # Numbers and not times order the checkpoints: clocks of machines differ, and can be set back.
    return max(found) + 1


@contextlib.contextmanager
def _make_hidden_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Make the folder to write into, held until the block or this process ends; remove it if the block fails."""

    def make() -> pathlib.Path:
        hidden = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.writing")
        hidden.mkdir()
        return hidden

    hidden, hold = held.make_held(make, lock_file=_LOCK)
    with hold:
        try:
            yield hidden
        # Also when the program is interrupted; a killed process leaves it for `remove_stale`.
        except BaseException:
            _clear(hidden)
            raise


def _is_empty(index: Index, key: str) -> bool:
    return 0 in index.shapes[key]


def dtype_of(name: str) -> np.dtype:
    """Return the dtype of a name, also one that NumPy does not have."""
    # bfloat16 and the 8-bit floats.
    # Imported late: only checkpoints with such arrays need it.
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, name))


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().partition("\n")[0][:_LONGEST_REASON]
