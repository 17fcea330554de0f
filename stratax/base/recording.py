"""Who is told of calls whose operands are known only when an exported program runs (lowest layer).

Text, and images whose sizes differ, never enter a compiled program. While a function is exported, a recorder stands on
the thread: functions of `tf` hand it calls that have such operands, by the function itself and its arguments.
"""

import functools
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

from stratax.base.surroundings import Slot, Surroundings

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _NotRecorded:
    """Says that a call is to be made as always."""


NOT_RECORDED: Final = _NotRecorded()


class Recorder(Protocol):
    """Records calls."""

    def record_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for a call's result; `NOT_RECORDED` where its operands have values.

        Args:
            function: The public function.
            args: Its arguments.
            kwargs: Those with names.
        """

    @property
    def lookup(self) -> Any:
        """What stands for text that is looked up by results of the program: see `tensorflow.ops.labels.Lookup`."""

    @property
    def apply(self) -> Any:
        """What stands for a function of text of such: see `stratax.tensorflow.ops.calls.labels.Apply`."""

    def record_operation(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what stands for the result of a layer or operation of Keras, as `record_call` does."""

    @property
    def phase(self) -> Any:
        """What stands for Keras' learning phase; None where each call says it."""

    def is_value(self, value: object) -> bool:
        """Return whether something stands for a value of the host."""

    def placeholder(self, dtype: Any, shape: Any, name: str | None) -> Any:
        """Return what stands for an input of the export."""


RECORDER: Slot[Recorder | None] = Slot("recorder", None)


def recording_with(recorder: Recorder | None) -> Surroundings:
    """Have a recorder stand on this thread in a block; None for none."""
    return RECORDER.holding(recorder)


def recordable(function: _Function) -> _Function:
    """Have a function hand calls to the recorder, if there is one.

    Those that are made by `op`, `gives_tensors`, `gives_elements` or `raises_named` do so already.
    """

    @functools.wraps(function)
    def call_recorded(*args: Any, **kwargs: Any) -> Any:
        recorder = RECORDER.get()
        if recorder is not None:
            made = recorder.record_call(call_recorded, args, kwargs)
            if made is not NOT_RECORDED:
                return made
        return function(*args, **kwargs)

    return cast(_Function, call_recorded)


def makes_dataset(function: _Function) -> _Function:
    """Have a function that makes a dataset hand calls to the recorder as :func:`recordable` does."""
    made = recordable(function)
    made.makes_dataset = True  # type: ignore[attr-defined]
    return made


def composite(function: _Function) -> _Function:
    """Have a function hand calls to the recorder as :func:`recordable` does.

    It makes variables, operations or names of its own, so that its own name belongs to them.
    """
    made = recordable(function)
    made.is_composite = True  # type: ignore[attr-defined]
    return made
