"""Whose line a frame is: the user's program's, or one of the libraries that run it (lowest layer).

Between a line such as `model.fit(...)` and what warns or fails below it lie frames of Stratax, Keras, JAX and of
Python's own modules, and how many differs from call to call.
"""

import functools
import importlib.util
import os
import sys
import types

LIBRARIES = ("stratax", "jax", "jaxlib", "keras", "malt")


def stack_level() -> int:
    """Return the `stacklevel` with which `warnings.warn`, called beside this, points to the user's line.

    That is the nearest frame outside of the libraries and Python's own modules. Where there is none, as in a thread of
    the library's own, it is the caller's.
    """
    level = 1
    frame = sys._getframe(1)
    while is_library(frame.f_code.co_filename) or is_python(frame.f_code.co_filename):
        following = _next(frame)
        if following is None:
            return 2
        level, frame = level + 1, following
    return level


def _next(frame: types.FrameType) -> types.FrameType | None:
    """Return the frame that called this one, without those that `warnings.warn` does not count."""
    following = frame.f_back
    while following is not None and _is_import_machinery(following.f_code.co_filename):
        following = following.f_back
    return following


def _is_import_machinery(filename: str) -> bool:
    return "importlib" in filename and "_bootstrap" in filename


def is_library(filename: str) -> bool:
    """Return whether a file belongs to Stratax or to a library that runs the user's functions for it."""
    return filename.startswith(folders(*LIBRARIES))


@functools.cache
def is_python(filename: str) -> bool:
    """Return whether a file belongs to Python itself, and not to what was installed beside its modules."""
    if filename.startswith("<frozen "):
        return True
    path = os.path.relpath(filename, _standard_library()) if os.path.isabs(filename) else os.pardir
    return path.split(os.sep)[0] not in (os.pardir, "site-packages", "dist-packages")


@functools.cache
def _standard_library() -> str:
    # Where `os` was read from: a virtual environment has its own prefix and not its own modules.
    return os.path.dirname(os.__file__)


@functools.cache
def folders(*packages: str) -> tuple[str, ...]:
    """Return the folders of packages that are installed, each with a separator at its end."""
    return tuple(os.path.join(os.path.dirname(path), "") for path in files(*packages))


@functools.cache
def files(*modules: str) -> frozenset[str]:
    """Return the files of modules that are installed, without importing them."""
    specs = [importlib.util.find_spec(name) for name in modules]
    return frozenset(spec.origin for spec in specs if spec is not None and spec.origin is not None)
