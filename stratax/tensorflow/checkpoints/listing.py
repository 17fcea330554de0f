"""Folders as programs list them that look for checkpoints by the names of TensorFlow's files (checkpoint layer).

A checkpoint of TensorFlow is found by its file `model.ckpt-10.index`; one of Stratax is a folder `model.ckpt-10`.
TensorFlow's functions for files tell of the former where there is the latter.
"""

import os
import re
from collections.abc import Iterable, Sequence

from stratax import data
from stratax.base.typing import StrPath
from stratax.io import gfile, local_path

_INDEX = ".index"
_NUMBERED = re.compile(r".+-\d+")


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
