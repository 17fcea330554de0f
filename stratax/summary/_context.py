"""What each thread writes summaries with: the default writer, the step, the condition (summary layer)."""

import abc
import contextlib
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from stratax.base.shown import shown
from stratax.base.surroundings import Slot, Surroundings
from stratax.core import regions
from stratax.errors import BadTypeError
from stratax.seams import keras as seam
from stratax.summary._records import SummaryRecord

_INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A value that was set for the summaries that follow.

    Attributes:
        value: The value.
        is_eager: Whether it was set outside of compiled functions. Of such a value a program uses what it is when the
            program runs, not what it was when it was traced.
    """

    value: Any
    is_eager: bool


class Collector(abc.ABC):
    """Takes the summaries of a step that are written once it is over, where there is no writer."""

    @abc.abstractmethod
    def path(self) -> str:
        """Return the name scopes that are entered, with slashes between them."""

    @abc.abstractmethod
    def enter_scope(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """Return a block in a name scope."""

    @abc.abstractmethod
    def collect(self, record: SummaryRecord) -> None:
        """Take one summary's tag, step and value."""


WRITER: Slot[Setting | None] = Slot("summary writer", None)
STEP: Slot[Setting | None] = Slot("summary step", None)
CONDITION: Slot[Setting | None] = Slot("summary condition", None)
COLLECTOR: Slot[Collector | None] = Slot("summary collector", None)


def collecting(collector: Collector) -> Surroundings:
    """Give the summaries of a block that have neither a writer nor a step to a collector."""
    return COLLECTOR.holding(collector)


def setting(value: object) -> Setting:
    """Return a value as a setting of this moment."""
    return Setting(value, regions.executing_eagerly())


def get_step() -> Any:
    """Return the step of summaries that are given none, as `tf.summary.experimental.get_step`; None if none is set."""
    step = STEP.get()
    return None if step is None else step.value


def set_step(step: object) -> None:
    """Set the step of this thread's summaries that are given none, as `tf.summary.experimental.set_step`.

    A compiled function uses the step that is set when it runs, also where it is a Python number: in TensorFlow that
    would be the one of when the function was traced.

    Args:
        step: A whole number, a variable or an array; None for no step.

    Raises:
        BadTypeError: If it is something else.
    """
    STEP.set(None if step is None else setting(check_step(step)))


def check_step(step: Any) -> Any:
    """Return a step, if it is one.

    Raises:
        BadTypeError: If it is no whole number.
    """
    if isinstance(step, int) and not isinstance(step, bool):
        return step
    dtype = np.dtype(step.dtype) if isinstance(step, keras.Variable) else getattr(step, "dtype", None)
    if dtype is None or np.dtype(dtype).kind not in "iu" or tuple(step.shape) != ():
        raise BadTypeError(
            "The step of a summary is one whole number. Expected: an int, or a variable or array of whole numbers and "
            f"shape (). Received: step={shown(step)} ({type(step).__name__}). Convert it with int()."
        )
    return step


@contextlib.contextmanager
def record_if(condition: object) -> Iterator[None]:
    """Write the summaries of a block only where a condition holds, as `tf.summary.record_if`.

    A compiled function asks when it runs: a callable that was given outside of it is called before every run, unless
    it computes with arrays or variables; then it is part of the program, which is traced for it once.

    Args:
        condition: A boolean, an array of one, or a callable that returns such.

    Example:
        >>> import stratax.summary as summary
        >>> with summary.record_if(False):
        ...     summary.should_record_summaries()
        False
    """
    with CONDITION.holding(setting(condition)):
        yield


@contextlib.contextmanager
def summary_scope(
    name: str, default_name: str = "summary", values: object = None
) -> Iterator[tuple[str, str]]:
    """Name a summary: a name scope, and the tag for TensorBoard, as `tf.summary.experimental.summary_scope`.

    Args:
        name: The summary's name.
        default_name: Its name if `name` is empty.
        values: Ignored.

    Returns:
        A context manager that gives `(tag, scope)`: the name behind those of the scopes around it; and the same with
        only what a scope's name may have, and a slash.
    """
    name = name or default_name
    collector = COLLECTOR.get()
    path = "/".join(seam.current_path()) if collector is None else collector.path()
    tag = f"{path}/{name}" if path else name
    allowed = _INVALID_SCOPE_CHARACTERS.sub("", name) or default_name
    with contextlib.ExitStack() as stack:
        for part in allowed.strip("/").split("/"):
            if part:
                stack.enter_context(
                    keras.name_scope(part) if collector is None else collector.enter_scope(part)
                )
        yield tag, f"{path}/{allowed}/" if path else f"{allowed}/"
