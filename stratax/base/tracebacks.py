"""Tracebacks that show the lines of the user's program (a low layer: imports neither JAX nor Keras).

Between a call such as `model.fit(...)` and the line that fails below it lie dozens of frames of Stratax, JAX, Keras and
AutoGraph. They are taken out of the traceback where an error leaves the library, as JAX and Keras take out theirs,
and with their own switches.
"""

import contextlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from stratax import errors
from stratax.base import callers

_SWITCH = "JAX_TRACEBACK_FILTERING"
_NOTE = f"Frames of Stratax, JAX and Keras are left out of this traceback. Set {_SWITCH}=off to see them."
_MARK = "_has_short_traceback"
# Modules of the standard library through which the library calls the user's functions.
_HELPERS = ("contextlib", "functools")


def shorten(error: BaseException) -> None:
    """Take the library's frames out of an error's traceback, and out of those that it was raised from.

    An error of JAX' or Python's that no line of the user's has led to may be a mistake of the library's own and keeps
    its frames. Those of Keras and Stratax are about what the user's program did.

    Args:
        error: The error that is about to leave the library. To be raised again by a bare `raise`.
    """
    # JAX's and Keras' own switches hold here, too.
    if not is_filtering_enabled():
        return
    chain = {id(each): (each, list(_walk(each.__traceback__))) for each in _chain(error)}.values()
    shown = [[frame for frame in frames if not _is_library(_file(frame))] for _, frames in chain]
    about_the_program = isinstance(error, errors.StrataxError) or any(
        # Shortened by a function below already, which has left none of Keras' frames.
        getattr(each, _MARK, False) or (frames and _file(frames[-1]).startswith(callers.folders("keras")))
        for each, frames in chain
    )
    # No frame of the user's and no error about the program: a fault in a library, whose frames are needed.
    if not (any(shown) or about_the_program):
        return
    for (each, _), frames in zip(chain, shown, strict=True):
        # Tracebacks are linked lists without a way to remove a link, so they are made anew.
        each.__traceback__ = _link(frames)
        setattr(each, _MARK, True)
    _tell(error, [each for each, _ in chain])


def _tell(error: BaseException, chain: list[BaseException]) -> None:
    """Put one note in the place of JAX' about its own frames; an error of ours says what is wrong by itself."""
    is_told = False
    for each in chain:
        notes = getattr(each, "__notes__", [])
        others = [note for note in notes if _SWITCH not in note]
        if len(others) < len(notes):
            is_told, each.__notes__ = True, others  # type: ignore[attr-defined]
    if is_told and not isinstance(error, errors.StrataxError):
        error.add_note(_NOTE)


class _Shortened(contextlib.ContextDecorator):
    """See `shortened`."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Shorten the traceback of an error that leaves."""
        if isinstance(error, Exception):
            shorten(error)


shortened = _Shortened()
"""A context, and a decorator of functions, that shortens the tracebacks of the errors that leave it."""


def is_filtering_enabled() -> bool:
    """Return whether frames of Stratax, JAX and Keras are left out of tracebacks."""
    # Neither is imported for this: an error of a pipeline on the host is quick.
    jax: Any = sys.modules.get("jax")
    config = getattr(jax, "config", None)
    mode = os.environ.get(_SWITCH) if config is None else config.jax_traceback_filtering
    keras: Any = getattr(sys.modules.get("keras"), "config", None)
    return mode != "off" and (keras is None or bool(keras.is_traceback_filtering_enabled()))


def _link(frames: list[types.TracebackType]) -> types.TracebackType | None:
    traceback = None
    for frame in reversed(frames):
        traceback = types.TracebackType(traceback, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return traceback


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and those that it was raised from or while handling, as far as they are printed."""
    # Chains of errors may have cycles.
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _walk(traceback: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _file(frame: types.TracebackType) -> str:
    return frame.tb_frame.f_code.co_filename


def _is_library(filename: str) -> bool:
    return (
        callers.is_library(filename)
        or filename.startswith(callers.folders("numpy"))
        or filename in callers.files(*_HELPERS)
    )
