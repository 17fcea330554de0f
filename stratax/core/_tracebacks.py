"""Tracebacks that show the lines of the user's program (core layer).

Between a call of a compiled function and the line that fails in it lie dozens of frames of Stratax, JAX, Keras and
AutoGraph. They are taken out of the traceback where an error leaves the library, as JAX and Keras take out theirs,
and with their own switches.
"""

import types
from collections.abc import Iterator

import jax
import keras

from stratax import _callers, errors

_NOTE = (
    "Frames of Stratax, JAX and Keras are left out of this traceback. "
    "Set JAX_TRACEBACK_FILTERING=off to see them."
)
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
    if not is_traceback_filtering_enabled():
        return
    chain = {id(each): (each, list(_walk(each.__traceback__))) for each in _chain(error)}.values()
    shown = [[frame for frame in frames if not _is_library(_file(frame))] for _, frames in chain]
    about_the_program = isinstance(error, errors.StrataxError) or any(
        frames and _file(frames[-1]).startswith(_callers.folders("keras")) for _, frames in chain
    )
    # No frame of the user's and no error about the program: a fault in a library, whose frames are needed.
    if not (any(shown) or about_the_program):
        return
    for (each, _), frames in zip(chain, shown, strict=True):
        # Tracebacks are linked lists without a way to remove a link, so they are made anew.
        each.__traceback__ = _linked(frames)
    if not any(
        "JAX_TRACEBACK_FILTERING" in note for each, _ in chain for note in getattr(each, "__notes__", ())
    ):
        error.add_note(_NOTE)


def disable_traceback_filtering() -> None:
    """Show all frames in tracebacks, also those of JAX and Keras, as `tf.debugging.disable_traceback_filtering`."""
    jax.config.update("jax_traceback_filtering", "off")
    keras.config.disable_traceback_filtering()


def enable_traceback_filtering() -> None:
    """Leave the frames of Stratax, JAX and Keras out of tracebacks again."""
    jax.config.update("jax_traceback_filtering", "auto")
    keras.config.enable_traceback_filtering()


def is_traceback_filtering_enabled() -> bool:
    """Return whether frames of Stratax, JAX and Keras are left out of tracebacks."""
    mode = jax.config.jax_traceback_filtering  # type: ignore[attr-defined]
    return mode != "off" and bool(keras.config.is_traceback_filtering_enabled())


def _linked(frames: list[types.TracebackType]) -> types.TracebackType | None:
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
    return _callers.is_library(filename) or filename in _callers.files(*_HELPERS)
