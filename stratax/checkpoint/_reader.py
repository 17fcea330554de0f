"""Reading a checkpoint as NumPy arrays, without the program that wrote it (checkpoint layer)."""

import os

import numpy as np

from stratax import errors
from stratax._shown import shown
from stratax.checkpoint import _commit, _folder, _store, _writer
from stratax.io import unfinished


class CheckpointReader:
    """The arrays of a checkpoint, as ``tf.train.load_checkpoint`` gives them. :func:`load_checkpoint` makes it.

    Args:
        index: The checkpoint.
    """

    def __init__(self, index: _store.Index) -> None:
        self._index = index

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes of all variables by key: the variable's key path, such as ``"model/layers/0/kernel"``."""
        return {key: list(shape) for key, shape in self._index.shapes.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype]:
        """Return the dtypes of all variables, by key."""
        return {key: _store.dtype_of(name) for key, name in self._index.dtypes.items()}

    def has_tensor(self, name: str) -> bool:
        """Return whether there is a variable of this key.

        Args:
            name: The key.
        """
        return name in self._index.shapes

    def get_tensor(self, name: str) -> np.ndarray:
        """Return the value of a variable, whole, as a NumPy array.

        Args:
            name: The variable's key.

        Raises:
            BadArgumentError: If there is no such variable.
            FileMissingError: If the checkpoint was replaced or removed since it was opened.
        """
        if name not in self._index.shapes:
            raise errors.BadArgumentError(
                f"The checkpoint {shown(os.fspath(self._index.folder))} has no such variable. Expected: one of "
                f"{sorted(self._index.shapes)}. Received: name={shown(name)}."
            )
        # A manager may just be removing this very checkpoint.
        unfinished.wait_for(self._index.folder)
        return _store.read_arrays(self._index, [name])[name]


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike) -> CheckpointReader:
    """Open a checkpoint to read its arrays, as ``tf.train.load_checkpoint``.

    Args:
        ckpt_dir_or_file: A checkpoint, or a folder whose latest is meant.

    Raises:
        FileMissingError: If there is none.
        FileAccessError: If it may not be read.
        DataLossError: If it is damaged.

    Example:
        >>> import stratax as sx, tempfile
        >>> path = sx.train.Checkpoint(step=sx.Variable(3)).write(tempfile.mkdtemp() + "/ckpt")
        >>> load_checkpoint(path).get_tensor("step")
        array(3, dtype=int32)
    """
    path = _folder.located(ckpt_dir_or_file)
    # A checkpoint that is still being written is waited for; its failure is raised here.
    if (error := _writer.wait_for(path)) is not None:
        raise error
    # The path may be one checkpoint or a folder of several; of these the last one counts.
    found = [] if (path / _commit.FILE).exists() else list(_folder.complete_checkpoints(path))
    return CheckpointReader(_store.read_index(found[-1] if found else path))


def load_variable(ckpt_dir_or_file: str | os.PathLike, name: str) -> np.ndarray:
    """Read one variable of a checkpoint, as ``tf.train.load_variable``.

    Args:
        ckpt_dir_or_file: A checkpoint, or a folder whose latest is meant.
        name: The variable's key.

    Raises:
        BadArgumentError: If there is no such variable.
        FileMissingError: If there is no checkpoint.
        DataLossError: If it is damaged.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file: str | os.PathLike) -> list[tuple[str, list[int]]]:
    """Return the keys and shapes of a checkpoint's variables, as ``tf.train.list_variables``.

    Args:
        ckpt_dir_or_file: A checkpoint, or a folder whose latest is meant.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
