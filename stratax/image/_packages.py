"""Packages that are installed with the extra `images` (image layer)."""

import functools
import importlib
from typing import Any

from stratax.errors import MissingPackageError

_INSTALLED_AS = {"simplejpeg": "simplejpeg", "PIL.Image": "pillow", "PIL.ImageSequence": "pillow"}


@functools.cache
def package(module: str) -> Any:
    """Return a module of a package for images, imported when it is first needed.

    Raises:
        MissingPackageError: It is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise MissingPackageError(
            f"Reading and writing images needs the package {_INSTALLED_AS[module]}, which is not installed. Run "
            "`pip install 'stratax-train[images]'`."
        ) from e
