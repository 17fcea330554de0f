"""`TrainSpec` and `EvalSpec`: what `train_and_evaluate` does (estimator layer)."""

import collections
from collections.abc import Callable, Iterable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.estimator.hooks import (
    CheckpointSaverListener,
    SessionRunHook,
    check_hooks,
    check_listeners,
)


class TrainSpec(collections.namedtuple("TrainSpec", ["input_fn", "max_steps", "hooks", "saving_listeners"])):
    """The training part of `train_and_evaluate`, as `tf.estimator.TrainSpec`.

    Args:
        input_fn: Returns the input, as for `Estimator.train`.
        max_steps: The global step at which training ends; None for as long as the input lasts.
        hooks: Hooks of training, on all workers.
        saving_listeners: Told of the checkpoints that are saved.

    Raises:
        BadArgumentError: If `max_steps` is less than 1.
        BadTypeError: If something has a wrong type.

    Example:
        >>> import stratax as sx
        >>> from stratax.estimator import EvalSpec, TrainSpec
        >>> dataset = sx.data.Dataset.range(8).batch(4)
        >>> TrainSpec(lambda: dataset.repeat(), max_steps=100).max_steps
        100
        >>> EvalSpec(lambda: dataset, steps=None, throttle_secs=30).throttle_secs
        30
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        saving_listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> "TrainSpec":
        """Check the fields and make the spec."""
        _check_input_fn(input_fn)
        _check_positive("max_steps", max_steps)
        return super().__new__(
            cls,
            input_fn=input_fn,
            max_steps=max_steps,
            hooks=check_hooks(hooks),
            saving_listeners=check_listeners(saving_listeners),
        )


class EvalSpec(
    collections.namedtuple(
        "EvalSpec",
        ["input_fn", "steps", "name", "hooks", "exporters", "start_delay_secs", "throttle_secs"],
    )
):
    """The evaluation part of `train_and_evaluate`, as `tf.estimator.EvalSpec`.

    Args:
        input_fn: Returns the input, as for `Estimator.evaluate`.
        steps: How many batches an evaluation takes; None for all of the input.
        name: What the evaluation's folder is called besides `eval`.
        hooks: Hooks of evaluation.
        exporters: An exporter or several, with names of their own; each is called after an evaluation.
        start_delay_secs: How long an evaluator waits before its first evaluation, in seconds.
        throttle_secs: The least time from the beginning of one evaluation to the next, in seconds.

    Raises:
        BadArgumentError: If a number is out of range, or exporters lack names of their own.
        BadTypeError: If something has a wrong type.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Iterable[SessionRunHook] | None = None,
        exporters: object = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> "EvalSpec":
        """Check the fields and make the spec."""
        _check_input_fn(input_fn)
        _check_positive("steps", steps)
        if name is not None and not isinstance(name, str):
            raise errors.BadTypeError(f"name must be a string. Received: name={shown(name)}.")
        _check_seconds("start_delay_secs", start_delay_secs)
        _check_seconds("throttle_secs", throttle_secs)
        return super().__new__(
            cls,
            input_fn=input_fn,
            steps=steps,
            name=name,
            hooks=check_hooks(hooks),
            exporters=_check_exporters(exporters),
            start_delay_secs=start_delay_secs,
            throttle_secs=throttle_secs,
        )


def _check_input_fn(input_fn: object) -> None:
    if not callable(input_fn):
        raise errors.BadTypeError(
            f"input_fn must be a function that returns the input. Received: input_fn={shown(input_fn)}. "
            "Pass the function itself, or lambda: dataset."
        )


def _check_positive(name: str, value: Any) -> None:
    if value is None:
        return
    _check_number(name, value)
    if value <= 0:
        raise errors.BadArgumentError(f"Must specify {name} > 0. Received: {name}={shown(value)}.")


def _check_seconds(name: str, value: Any) -> None:
    _check_number(name, value)
    if value < 0:
        raise errors.BadArgumentError(f"Must specify {name} >= 0. Received: {name}={shown(value)}.")


def _check_number(name: str, value: object) -> None:
    # NumPy's numbers are accepted: they have `__float__`, and so has everything that can be compared with 0 here.
    if isinstance(value, str | bytes) or not hasattr(value, "__float__"):
        raise errors.BadTypeError(f"{name} must be a number. Received: {name}={shown(value)}.")


def _check_exporters(exporters: object) -> tuple[Any, ...]:
    if exporters is None:
        return ()
    found = tuple(exporters) if isinstance(exporters, Iterable) else (exporters,)
    for exporter in found:
        if not (hasattr(exporter, "name") and callable(getattr(exporter, "export", None))):
            raise errors.BadTypeError(
                "exporters must be an Exporter, a list of them, or None; an Exporter has a name and a method export. "
                f"Received: {shown(exporter)}."
            )
    names = [exporter.name for exporter in found]
    if any(not isinstance(name, str) or not name for name in names) or len(set(names)) < len(names):
        raise errors.BadArgumentError(
            f"Each exporter must have a name of its own, which is not empty. Received: names={shown(names)}."
        )
    return found
