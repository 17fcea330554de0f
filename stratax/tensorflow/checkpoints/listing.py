"""Folders as programs list them that look for checkpoints by the names of TensorFlow's files (checkpoint layer).

A checkpoint of TensorFlow is found by its file `model.ckpt-10.index`; one of Stratax is a folder `model.ckpt-10`.
TensorFlow's functions for files tell of the former where there is the latter. Programs that keep their best checkpoint
copy, rename and remove its files one by one: with the index goes the folder, with the others nothing.
"""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from stratax import data
from stratax.base.shown import shown
from stratax.base.typing import StrPath
from stratax.errors import AlreadyExistsError
from stratax.io import gfile, local_path

_INDEX = ".index"
# As model.ckpt-10, and model.ckpt-best.
_NUMBERED = re.compile(r".+-\w+")
_PART = re.compile(r"(.+)\.(?:index|meta|data-\d{5}-of-\d{5})")


def listdir(path: StrPath) -> list[str]:
    """Return the names of what is in a folder, sorted, as `tf.io.gfile.listdir`; of checkpoints also those of indices.

    Raises:
        FileMissingError: If there is no such folder.
    """
    names = gfile.listdir(path)
    return sorted([*names, *(f"{name}{_INDEX}" for name in names if _is_checkpoint(path, name))])


def exists(path: StrPath) -> bool:
    """Return whether there is a file or folder, as `tf.io.gfile.exists`; a checkpoint has an index, too."""
    return gfile.exists(path) or _has_index(os.fsdecode(path))


def glob(pattern: str | Sequence[str]) -> list[str]:
    """Return the files that patterns name, sorted, as `tf.io.gfile.glob`; a checkpoint has an index, too.

    Args:
        pattern: Pattern, or list of patterns, with `*`, `?` and `[...]`.
    """
    patterns = [pattern] if isinstance(pattern, str | bytes | os.PathLike) else list(pattern)
    wanted = [each for each in map(os.fsdecode, patterns) if each.endswith(_INDEX)]
    indices = _indices_of(name for each in wanted for name in data.glob(each.removesuffix(_INDEX)))
    return sorted({*data.glob(pattern), *indices})


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file, as `tf.io.gfile.copy`; with the index of a checkpoint the checkpoint.

    Args:
        src: Which.
        dst: Its new path or URL.
        overwrite: Whether what is there is replaced.

    Raises:
        AlreadyExistsError: If there is one that is not to be replaced.
        FileMissingError: If there is no such file.
    """
    checkpoint = _checkpoint_of(src)
    if checkpoint is None:
        gfile.copy(src, dst, overwrite)
    elif (target := _free(src, dst, overwrite)) is not None:
        shutil.copytree(checkpoint, target)


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Give a file or folder another path, as `tf.io.gfile.rename`; with the index of a checkpoint the checkpoint.

    Args:
        src: Which.
        dst: Its new path or URL, in the same file system.
        overwrite: Whether what is there is replaced.

    Raises:
        AlreadyExistsError: If there is one that is not to be replaced.
        FileMissingError: If there is no such file or folder.
    """
    checkpoint = _checkpoint_of(src)
    if checkpoint is None:
        gfile.rename(src, dst, overwrite)
    elif (target := _free(src, dst, overwrite)) is not None:
        gfile.rename(checkpoint, target)


def remove(path: StrPath) -> None:
    """Remove a file, as `tf.io.gfile.remove`; with the index of a checkpoint the checkpoint.

    Args:
        path: Which.

    Raises:
        FileMissingError: If there is no such file.
    """
    checkpoint = _checkpoint_of(path)
    if checkpoint is None:
        gfile.remove(path)
    elif os.fsdecode(path).endswith(_INDEX):
        gfile.rmtree(checkpoint)


def _checkpoint_of(path: StrPath) -> str | None:
    """Return the folder of the checkpoint that a path is a file of by TensorFlow's names; None if it is of none."""
    found = _PART.fullmatch(os.fsdecode(path))
    if found is None or gfile.exists(path) or not _is_checkpoint(*os.path.split(found[1])):
        return None
    return local_path(found[1])


def _free(src: StrPath, dst: StrPath, overwrite: bool) -> str | None:
    """Return where a checkpoint is to go with one of its files, and make room there; None if it goes with another."""
    target = os.fsdecode(dst)
    if not os.fsdecode(src).endswith(_INDEX):
        return None
    if exists(target):
        if not overwrite:
            raise AlreadyExistsError(
                f"There is a checkpoint already. Received: {shown(target)}. Pass overwrite=True to replace it."
            )
        remove(target)
    return target.removesuffix(_INDEX)


def _indices_of(names: Iterable[str]) -> list[str]:
    return [f"{name}{_INDEX}" for name in names if _has_index(f"{name}{_INDEX}")]


def _has_index(path: str) -> bool:
    folder, name = os.path.split(path)
    return name.endswith(_INDEX) and _is_checkpoint(folder, name.removesuffix(_INDEX))


def _is_checkpoint(folder: StrPath, name: str) -> bool:
    """Return whether a name in a folder is that of a checkpoint of Stratax; quick for what isn't called like one."""
    if not _NUMBERED.fullmatch(name):
        return False
    path = local_path(os.path.join(os.fsdecode(folder), name))
    if path is None or not os.path.isdir(path):
        return False
    # Late: programs that only read files have no use for JAX.
    from stratax.checkpoint import saving

    return bool(saving.checkpoint_exists(path))
