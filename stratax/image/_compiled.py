"""Where compiled loops over the numbers of images come from: Numba, if it is installed (image layer).

Where one loop would do, NumPy takes a dozen operations, and threads wait longer for the interpreter's lock between them
than they take. Numba comes with `pip install 'stratax-train[image-speed]'` and is imported by the first operation that
has a loop. It keeps what it compiled beside this package, or, where that can't be written, in the user's cache folder.
"""

import contextlib
import fcntl
import functools
import importlib
import logging
import os
import pathlib
import threading
import time
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stratax.base.shown import cut
from stratax.base.typing import TensorLike
from stratax.image._loops import MemoryLayout

# Computes its last argument from the others, without the interpreter's lock.
Loop = Callable[..., None]

_DTYPES = {np.dtype(name): name for name in ("uint8", "float32")}
_LOCK_FILE = "stratax-image.lock"
# Compiling one loop takes a second or two; a process that stands still must not stop others.
_PATIENCE = 60.0
_compiling = threading.Lock()
_logger = logging.getLogger("stratax")


def loop_for(function: Loop, image: TensorLike) -> Loop | None:
    """Return a loop of `_loops` as machine code.

    Args:
        function: The loop.
        image: The array that it is going to read.

    Returns:
        The compiled loop; None without Numba, or if there are no loops for arrays like this.
    """
    if type(image) is not np.ndarray or image.dtype not in _DTYPES or not image.flags.aligned:
        return None
    return _compile_alone(function, _DTYPES[image.dtype]) if numba() else None


@functools.cache
def numba() -> Any:
    """Import the package; None if it is not installed, does not work here, or is told not to compile."""
    try:
        package = importlib.import_module("numba")
    except ImportError as e:
        if not (isinstance(e, ModuleNotFoundError) and e.name == "numba"):
            # It refuses versions of NumPy that are newer than itself.
            _logger.warning("Images are computed with NumPy alone: Numba can't be imported: %s", cut(str(e)))
        return None
    return None if package.config.DISABLE_JIT else package


@functools.cache
def _compile_alone(function: Loop, dtype: str) -> Loop:
    with _compiling:
        return _compile(function, dtype)


def _compile(function: Loop, dtype: str) -> Loop:
    signature = _signature(function, dtype)
    try:
        kept = _jit(cache=True)(function)
        with _alone(pathlib.Path(kept.stats.cache_path)):
            return _jit(signature, cache=True)(function)
    except Exception:
        # No folder can be written, or it is full, what lies there is damaged, or another process keeps it locked.
        return _jit(signature)(function)


def _jit(*arguments: object, **options: object) -> Any:
    # NumPy's answer to a division by zero, not Python's.
    return numba().njit(*arguments, nogil=True, error_model="numpy", **options)


@contextlib.contextmanager
def _alone(folder: pathlib.Path) -> Iterator[None]:
    """Keep other processes from changing Numba's index meanwhile: of two at once, one could find the other's code."""
    descriptor = os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        end = time.monotonic() + _PATIENCE
        while not _is_locked(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(f"Another process has been compiling loops for over {_PATIENCE} s.")
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _signature(function: Loop, dtype: str) -> Any:
    """Return Numba's name for the arguments of a loop, by its annotations."""
    hints = typing.get_type_hints(function, include_extras=True)
    del hints["return"]
    return numba().types.void(*(_type(hint, dtype) for hint in hints.values()))


def _type(hint: Any, dtype: str) -> Any:
    types = numba().types
    if hint in (int, np.float32):
        return types.intp if hint is int else types.float32
    (layout,) = (extra for extra in hint.__metadata__ if isinstance(extra, MemoryLayout))
    order = "A" if layout.is_strided else "C"
    return types.Array(
        getattr(types, layout.dtype or dtype), layout.ndim, order, readonly=not layout.is_result
    )
