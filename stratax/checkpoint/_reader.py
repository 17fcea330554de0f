"""Reading a checkpoint as NumPy arrays, without the program that wrote it (checkpoint layer)."""

import collections
import functools
import os

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.checkpoint import _commit, _folder, _store, _writer
from stratax.checkpoint._formats import Arrays, formats
from stratax.io import unfinished

# Of the keys that TensorFlow gives what an object of its own holds.
_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"


class _Stored:
    """The arrays of a checkpoint of Stratax.

    Args:
        index: What stands in it.
    """

    def __init__(self, index: _store.Index) -> None:
        self.path = os.fspath(index.folder)
        self.shapes = index.shapes
        self.names = index.names
        self._index = index

    @functools.cached_property
    def dtypes(self) -> dict[str, np.dtype]:
        return {key: _store.dtype_of(name) for key, name in self._index.dtypes.items()}

    def read(self, key: str) -> np.ndarray:
        # A manager may just be removing this very checkpoint.
        unfinished.wait_for(self._index.folder)
        return _store.read_arrays(self._index, [key])[key]


class CheckpointReader:
    """The arrays of a checkpoint, as ``tf.train.load_checkpoint`` gives them. :func:`load_checkpoint` makes it.

    Args:
        arrays: Those of the checkpoint.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shapes of all variables by key: the variable's key path, such as ``"model/layers/0/kernel"``.

        In a checkpoint of an Estimator, and in those that TensorFlow wrote, the key may be the variable's name.
        """
        return {key: list(shape) for key, shape in self._arrays.shapes.items()}

    def get_variable_to_dtype_map(self) -> dict[str, np.dtype]:
        """Return the dtypes of all variables, by key."""
        return dict(self._arrays.dtypes)

    def has_tensor(self, name: str) -> bool:
        """Return whether there is a variable of this key.

        Args:
            name: The key, also with the ending `/.ATTRIBUTES/VARIABLE_VALUE` that TensorFlow gives it.
        """
        return self._key(name) in self._arrays.shapes

    def get_tensor(self, name: str) -> np.ndarray:
        """Return the value of a variable, whole, as a NumPy array.

        Args:
            name: The variable's key, as for :meth:`has_tensor`.

        Raises:
            NoCheckpointError: If there is no such variable.
            FileMissingError: If the checkpoint was replaced or removed since it was opened.
        """
        key = self._key(name)
        if key not in self._arrays.shapes:
            raise errors.NoCheckpointError(
                f"The checkpoint {shown(self._arrays.path)} has no such variable. Expected: one of "
                f"{sorted(self._arrays.shapes)}. Received: name={shown(name)}."
            )
        return self._arrays.read(key)

    def _key(self, name: str) -> str:
        return name if name in self._arrays.shapes else name.removesuffix(_ENDING)


def keys_by_name(reader: CheckpointReader) -> dict[str, str]:
    """Return the keys of a checkpoint's variables by the names that they had in their program.

    A name that several variables had is left out. Where the variables were saved by name, both are the same.

    Args:
        reader: The checkpoint.
    """
    arrays = reader._arrays
    names = {key: arrays.names.get(key, key) for key in arrays.shapes}
    counts = collections.Counter(names.values())
    return {name: key for key, name in names.items() if counts[name] == 1}


def load_checkpoint(ckpt_dir_or_file: str | os.PathLike) -> CheckpointReader:
    """Open a checkpoint to read its arrays, as ``tf.train.load_checkpoint``.

    Checkpoints that TensorFlow wrote are read, too, without TensorFlow.

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
    path = _folder.locate(ckpt_dir_or_file)
    # A checkpoint that is still being written is waited for; its failure is raised here.
    if (error := _writer.wait_for(path)) is not None:
        raise error
    # The path may be one checkpoint or a folder of several; of these the last one counts.
    if (path / _commit.FILE).exists():
        return CheckpointReader(_Stored(_store.read_index(path)))
    found = list(_folder.without_damage(_folder.complete_checkpoints(path)))
    for kind in () if found else formats():
        if theirs := [path] if kind.has(path) else kind.list_folder(path):
            return CheckpointReader(kind.open(theirs[-1]))
    return CheckpointReader(_Stored(_store.read_index(found[-1] if found else path)))


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
    # Tensors of TensorFlow 1 are named so.
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: str | os.PathLike) -> list[tuple[str, list[int]]]:
    """Return the keys and shapes of a checkpoint's variables, as ``tf.train.list_variables``.

    Args:
        ckpt_dir_or_file: A checkpoint, or a folder whose latest is meant.

    Raises:
        FileMissingError: If there is none.
        DataLossError: If it is damaged.
    """
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
