"""What `import keras` finds where a process takes Stratax for TensorFlow: the Keras 2 of then, too (tf layer).

Keras 3 is `keras` here. What Keras 2 had in other modules, or under names that Keras 3 left out, is that of `tf.keras`.
"""

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.tf import _companions

_OWN = "stratax.tf.keras"
# Modules of Keras 2, below `keras`, and what has the names of each: `""` is Keras itself.
_PLACES = {
    "backend.tensorflow_backend": "backend",
    "callbacks.callbacks": "callbacks",
    "layers.advanced_activations": "layers",
    "layers.attention": "layers",
    "layers.convolutional": "layers",
    "layers.convolutional_recurrent": "layers",
    "layers.core": "layers",
    "layers.cudnn_recurrent": "layers",
    "layers.dense_attention": "layers",
    "layers.embeddings": "layers",
    "layers.local": "layers",
    "layers.merge": "layers",
    "layers.noise": "layers",
    "layers.normalization": "layers",
    "layers.pooling": "layers",
    "layers.recurrent": "layers",
    "layers.wrappers": "layers",
    "objectives": "losses",
    "preprocessing.text": "preprocessing.text",
    "utils.data_utils": "utils",
    "utils.generic_utils": "utils",
    "utils.io_utils": "utils",
    "utils.layer_utils": "utils",
    "utils.np_utils": "utils",
    "utils.vis_utils": "utils",
}
_ENGINE = "stratax.tf._inside.keras_engine"
# Of `keras`, those that have further names of Keras 2 in `tf.keras`.
_WITH_MORE = (
    *("backend", "callbacks", "layers", "losses", "metrics", "models", "optimizers", "preprocessing"),
    *("preprocessing.image", "preprocessing.sequence", "utils"),
)


def place(path: str) -> str | None:
    """Return the module that has what a module of Keras 2 has; None if it is none that Keras 3 lacks.

    Args:
        path: The module's path below `keras`, as `layers.core`.
    """
    if path == "engine" or path.startswith("engine."):
        return _ENGINE
    if path.startswith("layers.normalization."):
        path = "layers.normalization"
    found = _PLACES.get(path)
    return None if found is None else f"{_OWN}.{found}"


def install() -> None:
    """Have `import keras` find the package that is installed, and no longer the one that stands in for it."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Behind what waits for Keras, and in front of what looks through folders.
        sys.meta_path.insert(sys.meta_path.index(importlib.machinery.PathFinder), _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return _companions.find_installed(fullname) if fullname == "keras" else None


def add_names() -> None:
    """Have the modules of Keras 3 give the names that `tf.keras` has besides."""
    for path in _WITH_MORE:
        module = importlib.import_module(f"keras.{path}")
        vars(module)["__getattr__"] = functools.partial(_find, module, f"{_OWN}.{path}")


def image_dim_ordering() -> str:
    """Return what Keras called its data format at first: "tf" with channels last, "th" with channels first."""
    import keras

    return "th" if keras.config.image_data_format() == "channels_first" else "tf"


def set_image_dim_ordering(dim_ordering: str) -> None:
    """Set the data format by its first name.

    Args:
        dim_ordering: "tf" or "th".

    Raises:
        BadArgumentError: If it is neither.
    """
    import keras

    if dim_ordering not in ("tf", "th"):
        raise BadArgumentError(
            f"dim_ordering has to be 'tf' (channels last) or 'th' (channels first). Received: {shown(dim_ordering)}."
        )
    keras.config.set_image_data_format("channels_last" if dim_ordering == "tf" else "channels_first")


# What `keras.backend` had besides before Keras was a part of TensorFlow.
_OF_BACKEND = {each.__name__: each for each in (image_dim_ordering, set_image_dim_ordering)}


def _find(module: types.ModuleType, place: str, name: str) -> Any:
    if module.__name__ == "keras.backend" and name in _OF_BACKEND:
        return _OF_BACKEND[name]
    if not name.startswith("__"):
        door = importlib.import_module(place)
        # Its own names alone: for others it asks Keras.
        if name in door.__all__:
            return getattr(door, name)
    raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'", name=name, obj=module)
