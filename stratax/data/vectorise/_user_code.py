"""Calls of the user's code from within a reading, where a StopIteration would look like the end (data layer)."""

from collections.abc import Callable
from typing import Any

from stratax.errors import DataError, StrataxError


def name_of(function: Callable[..., Any]) -> str:
    """Return how messages call a function."""
    return f"The function {getattr(function, '__qualname__', repr(function))}"


def tell_of_function(error: Exception, operation: str, note: str) -> None:
    """Let an error of a user's function say where it was called: an own one in TensorFlow's words, any in a note.

    Args:
        error: What the function raised. Its class stays.
        operation: The name of the method that the function was given to.
        note: Which function failed, and on which element.
    """
    error.add_note(note)
    # The message of an OSError is not its first argument alone.
    is_own = isinstance(error, StrataxError) and not isinstance(error, OSError)
    if is_own and len(error.args) == 1 and isinstance(error.args[0], str):
        kind = "".join(part.capitalize() for part in operation.split("_"))
        error.args = (
            f"Error in user-defined function passed to {kind}Dataset transformation with iterator: "
            f"Iterator::Root::{kind}: {error.args[0]}",
        )


def describe_unexpected_end(who: str, error: StopIteration) -> DataError:
    """Return what a StopIteration of the user's code becomes: it would end the Dataset as if no element were left."""
    return DataError(
        f"{who} raised StopIteration, which would end the Dataset without a word. Expected: a result, or another "
        f"exception. Received: {type(error).__name__} ({str(error)[:200]!r}). Give next() a default, or shorten the "
        "Dataset with take() or filter()."
    )


class user_code:
    """Within it, a StopIteration becomes a DataError.

    Args:
        who: Whose code it is, for the message.
    """

    __slots__ = ("_who",)

    def __init__(self, who: str) -> None:
        self._who = who

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, StopIteration):
            raise describe_unexpected_end(self._who, error) from error
