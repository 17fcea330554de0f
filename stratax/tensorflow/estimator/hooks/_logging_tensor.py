"""`LoggingTensorHook`: prints tensors now and then (estimator layer)."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import keras
import numpy as np

from stratax import cluster, errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    SessionView,
)
from stratax.tensorflow.estimator.hooks._timer import (
    SecondOrStepTimer,
    check_one,
    check_positive,
    steps_to_come,
)
from stratax.tensorflow.v1 import current_or_none

_logger = logging.getLogger("stratax")


class LoggingTensorHook(SessionRunHook):
    """Prints tensors at the first step and every so many steps or seconds behind it, as TensorFlow's.

    It writes to the logger `stratax`, level INFO. Of a dispatch of several steps, the last one's values are printed.

    Args:
        tensors: Tensors or their names by tag, or a list of them.
        every_n_iter: The distance in steps.
        every_n_secs: The distance in seconds, instead.
        at_end: Whether to print the last step's values at the end. The tensors are fetched in every dispatch then.
        formatter: Makes the line of a dict of the values by tag.

    Raises:
        BadArgumentError: If neither a distance nor `at_end` is given, or both distances are, or one is not positive.
        BadTypeError: If an argument has a wrong type.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        if not at_end or every_n_iter is not None or every_n_secs is not None:
            check_one("every_n_iter", every_n_iter, "every_n_secs", every_n_secs)
        check_positive("every_n_iter", every_n_iter)
        self._tensors = _by_tag(tensors)
        self._is_by_clock = every_n_secs is not None
        self._timer = (
            None
            if every_n_iter is None and every_n_secs is None
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )
        self._at_end = at_end
        self._formatter = formatter
        self._num_steps = 0
        self._is_due = False
        self._last: dict[str, Any] | None = None

    def begin(self) -> None:
        """See :meth:`SessionRunHook.begin`."""
        if self._timer is not None:
            self._timer.reset()
        self._num_steps = 0
        self._last = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the tensors where they will be printed."""
        coming = self._num_steps + steps_to_come(run_context.session)
        self._is_due = self._timer is not None and self._timer.should_trigger_for_step(coming)
        # What is fetched is part of the program, which has to be the same in all workers: no worker's clock says so.
        is_asked = self._is_due or self._at_end or (self._is_by_clock and cluster.current() is not None)
        return SessionRunArgs(self._tensors) if is_asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Print what was asked for."""
        self._num_steps += run_context.session.steps
        if self._is_due:
            self._print(run_values.results)
        if self._at_end:
            self._last = run_values.results

    def end(self, session: SessionView) -> None:
        """Print the last step's values, if that was wanted."""
        if self._at_end and self._last is not None:
            self._print(self._last)

    def _print(self, values: dict[str, Any]) -> None:
        seconds = None
        if self._timer is not None:
            seconds, _ = self._timer.update_last_triggered_step(self._num_steps)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                _logger.info("%s", self._formatter(values))
                return
            line = ", ".join(f"{tag} = {values[tag]}" for tag in self._tensors)
        _logger.info("%s", line if seconds is None else f"{line} ({seconds:.3f} sec)")


def _by_tag(tensors: object) -> dict[str, Any]:
    if isinstance(tensors, str) or not isinstance(tensors, Iterable):
        raise errors.BadTypeError(
            f"tensors must be a dict by tag, or a list of tensors or names. Received: tensors={shown(tensors)}."
        )
    if isinstance(tensors, Mapping):
        return {tag: tensors[tag] for tag in sorted(tensors)}
    return {_tag(tensor, number): tensor for number, tensor in enumerate(tensors)}


def _tag(tensor: object, number: int) -> str:
    """Return what a tensor of a list is called: its name, if it has one."""
    if isinstance(tensor, str):
        return tensor
    if isinstance(tensor, keras.Variable):
        return tensor.path
    scope = current_or_none()
    named = {} if scope is None else scope.names.tensors()
    # In the order of the names, since a tensor may have several.
    return next((name for name, value in named.items() if value is tensor), f"tensor_{number}")
