"""Files of models and weights whose names have no ending, as Keras 2's programs write them (keras2 layer).

`model.save("folder")` writes Keras 3's format unpacked, as a folder, which `load_model` reads. `name.h5` has weights as
Keras 2 lays them out. Those of other names are written as `name.weights.h5`, and read by the name that they were saved
with. Weights that TensorFlow has saved are read, too.
"""

import contextlib
import functools
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax.core import storage
from stratax.io import local_path, replace_file
from stratax.seams import keras2 as seam
from stratax.tensorflow.checkpoints import conversion
from stratax.tensorflow.keras2 import _hdf5, _saved_models

_MODEL = "keras.src.models.model:Model"
_WEIGHTS = ".weights.h5"
_KNOWN = (".keras", ".h5", ".hdf5", ".json")


def install() -> None:
    """Let paths have no ending; safe to call again."""
    seam.widen(f"{_MODEL}.save", _save)
    seam.widen(f"{_MODEL}.save_weights", _save_weights)
    seam.widen(f"{_MODEL}.load_weights", _load_weights)
    seam.widen("keras:callbacks.ModelCheckpoint.__init__", _checkpoint)
    _hdf5.install()
    _saved_models.install()
    for path in seam.DOWNLOADING:
        seam.widen(path, _into_folders)


def _into_folders(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take a path for the name of a file: that of one which is there, or of where to put it."""

    @functools.wraps(original)
    def get_file(fname: Any = None, *args: Any, **kwargs: Any) -> Any:
        folder, name = os.path.split(os.fspath(fname or ""))
        if not (folder and name):
            return original(fname, *args, **kwargs)
        given = inspect.signature(original).bind(name, *args, **kwargs).arguments
        if os.path.isabs(folder):
            given |= {"cache_dir": folder, "cache_subdir": ""}
        else:
            given["cache_subdir"] = os.path.join(given.get("cache_subdir", "datasets"), folder)
        return original(**given)

    return get_file


def _has_ending(path: object) -> bool:
    return str(path).endswith(_KNOWN)


def _save(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save(
        self: Any, filepath: Any, overwrite: bool = True, zipped: bool | None = None, **kwargs: object
    ) -> Any:
        kept = kwargs.pop("save_format", None)
        # TensorFlow's own, of a SavedModel.
        for name in ("signatures", "options", "save_traces"):
            kwargs.pop(name, None)
        if kept == "h5" and not _has_ending(filepath):
            filepath = f"{filepath}.h5"
        if str(filepath).endswith((".h5", ".hdf5")) and self.compiled and self.get_compile_config() is None:
            # Its optimizer can't be saved, which has been told; other formats ask for this themselves.
            kwargs["include_optimizer"] = False
        if _has_ending(filepath) or zipped is not None:
            return original(self, filepath, overwrite, zipped, **kwargs)
        kwargs.pop("include_optimizer", None)
        with _replacing(os.fspath(filepath)) as folder:
            return original(self, folder, overwrite, False, **kwargs)

    return save


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[str]:
    """Yield a folder that takes the place of one that is there once it is written."""
    if local_path(path) is None:
        yield path
        return
    path = os.path.realpath(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".saving-", dir=os.path.dirname(path)) as beside:
        new, old = os.path.join(beside, "new"), os.path.join(beside, "old")
        os.mkdir(new)
        yield new
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(new, path)


def _save_weights(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save_weights(
        self: Any, filepath: Any, overwrite: bool = True, *args: object, **kwargs: object
    ) -> Any:
        for name in ("save_format", "options"):
            kwargs.pop(name, None)
        if _is_hdf5(filepath):
            return _save_hdf5_weights(self, os.fspath(filepath), overwrite=overwrite)
        if not _has_ending(filepath):
            # As TensorFlow's format of weights, which such a name means to Keras 2.
            os.makedirs(os.path.dirname(filepath) or ".", exist_ok=True)
        return original(self, with_ending(filepath), overwrite, *args, **kwargs)

    return save_weights


def _save_hdf5_weights(model: keras.Model, path: str, *, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path) and not seam.ask_to_proceed_with_overwrite(path):
        return
    # A process that is killed meanwhile leaves the file that was there.
    with storage.one_state(model.variables), replace_file(path) as temporary:
        seam.save_hdf5_weights(model, temporary)


def _is_hdf5(path: Any) -> bool:
    """Return whether weights of this name are laid out as in Keras 2."""
    return os.fspath(path).endswith((".h5", ".hdf5")) and not os.fspath(path).endswith(_WEIGHTS)


def with_ending(path: Any) -> str:
    """Return a path of weights with the ending that Keras 3 wants.

    Args:
        path: The path as a program for Keras 2 has it: `name`, `name.h5` or `name.weights.h5`.
    """
    path = os.fspath(path)
    if path.endswith((_WEIGHTS, ".json")):
        return path
    if path.endswith((".h5", ".hdf5")):
        return os.path.splitext(path)[0] + _WEIGHTS
    return path + _WEIGHTS


def _load_weights(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def load_weights(self: Any, filepath: Any, *args: object, **kwargs: object) -> Any:
        kwargs.pop("options", None)
        if not self.built and _waits(filepath):
            # It stands on checkpoints, which few programs use.
            from stratax.tensorflow.keras2.later_weights import LaterWeights

            return LaterWeights(self, lambda: load_weights(self, filepath, *args, **kwargs))
        if not os.path.isfile(filepath) and conversion.has_tensorflow_weights(filepath):
            return conversion.load_weights(self, filepath)
        # A file of that very name, of Keras 2's making or anybody's, comes first.
        if os.path.exists(filepath) or not os.path.exists(with_ending(filepath)):
            return original(self, filepath, *args, **kwargs)
        original(self, with_ending(filepath), *args, **kwargs)
        # Every weight has its value, or that has raised.
        return None if _has_ending(filepath) else conversion.WeightsStatus([])

    return load_weights


def _waits(filepath: Any) -> bool:
    """Return whether weights are in what TensorFlow's format is here, which waits for layers that have none yet."""
    if conversion.has_tensorflow_weights(filepath):
        return True
    return not _has_ending(filepath) and os.path.exists(with_ending(filepath))


def _checkpoint(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __init__(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> None:
        names = ("monitor", "verbose", "save_best_only", "save_weights_only")
        weights_only = (dict(zip(names, args, strict=False)) | kwargs).get("save_weights_only", False)
        self.period, self.epochs_since_last_save = kwargs.pop("period", 1), 0
        kwargs.pop("options", None)
        # Keras 3 wants an ending here, and `save` takes folders and files of Keras 2's names.
        wanted = with_ending(filepath) if weights_only else f"{os.path.splitext(filepath)[0]}.keras"
        original(self, wanted, *args, **kwargs)
        if not weights_only or _is_hdf5(filepath):
            self.filepath = os.fspath(filepath)

    return __init__
