"""Models that are saved: of one state, and in callbacks as whole files (keras layer)."""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import keras

from stratax.core import storage
from stratax.io import local_path, replace_file
from stratax.seams import keras as seam

_SAVES = ("save", "save_weights")
# Of files that Keras writes.
_ENDINGS = (".keras", ".h5", ".hdf5", ".json")


def install() -> None:
    """Let Keras' callbacks that save models write whole files, under a strategy or none."""
    callbacks = ("ModelCheckpoint", "BackupAndRestore")
    paths = [f"keras:callbacks.{callback}._save_model" for callback in callbacks]
    seam.install(
        "stratax.keras", dict.fromkeys(paths, _saving_whole) | dict.fromkeys(seam.SAVES, _of_one_state)
    )


def _of_one_state(original: Callable[..., Any]) -> Callable[..., Any]:
    """Have what is saved belong together where other tasks change variables meanwhile: Keras reads one by one."""

    @functools.wraps(original)
    def save(model: Any, *args: object, **kwargs: object) -> Any:
        with one_state(model):
            return original(model, *args, **kwargs)

    return save


@contextlib.contextmanager
def one_state(model: object) -> Iterator[None]:
    """Have a model's variables, and its optimizer's, read as one state inside the block.

    Args:
        model: The model, or another thing that Keras saves.
    """
    optimizer = getattr(model, "optimizer", None)
    variables = [*getattr(model, "variables", ()), *(() if optimizer is None else optimizer.variables)]
    with storage.one_state(each for each in variables if isinstance(each, keras.Variable)):
        yield


def _saving_whole(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def save_model(self: keras.callbacks.Callback, *args: object, **kwargs: object) -> None:
        with saving_whole(self.model):
            original(self, *args, **kwargs)

    return save_model


@contextlib.contextmanager
def saving_whole(model: keras.Model) -> Iterator[None]:
    """Make `model.save` and `model.save_weights` write beside a file, inside the block, and then put it in its place.

    Args:
        model: The model. Files at a URL, folders and weights in several files are written as Keras writes them.
    """
    before = {name: model.__dict__.get(name) for name in _SAVES}
    for name in _SAVES:
        # An attribute of the instance stands before the method of the class; around Keras' tracking of attributes.
        model.__dict__[name] = _whole(getattr(model, name))
    try:
        yield
    finally:
        for name, method in before.items():
            if method is None:
                del model.__dict__[name]
            else:
                model.__dict__[name] = method


def _whole(save: Callable[..., Any]) -> Callable[..., Any]:
    def save_whole(filepath: Any, *args: object, **kwargs: object) -> Any:
        path = local_path(os.fspath(filepath))
        # Called in another way than Keras' callbacks do: by the user, whose arguments may mean anything.
        if path is None or args or kwargs != {"overwrite": True} or not _takes_file(path):
            return save(filepath, *args, **kwargs)
        with replace_file(path) as temporary:
            # The hidden file's name ends as the file's, by which Keras chooses the format.
            return save(temporary, overwrite=True)

    return save_whole


def _takes_file(path: str) -> bool:
    """Return whether a file can be there; where not, Keras' own error names the path that the user knows."""
    if not path.endswith(_ENDINGS):
        # A folder, as programs for Keras 2 save models.
        return False
    return not os.path.isdir(path) and os.path.isdir(os.path.dirname(path) or ".")
