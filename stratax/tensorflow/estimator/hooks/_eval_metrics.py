"""What evaluations have written into a folder of summaries (estimator layer)."""

import logging
import os
from collections.abc import Iterator
from typing import Any

from stratax import errors
from stratax import io as files
from stratax.summary import forms
from stratax.summary.files import summary_iterator

_logger = logging.getLogger("stratax")

_EVENT_FILES = "events.out.tfevents.*"


def read_eval_metrics(eval_dir: str | os.PathLike[str]) -> dict[int, dict[str, float]]:
    """Return the numbers that evaluations have written, as TensorFlow's function.

    Args:
        eval_dir: The folder, as `Estimator.eval_dir()` returns it.

    Returns:
        By global step, in order, the metrics by name. Empty where there is no folder.

    Raises:
        MissingPackageError: If TensorBoard is not installed.
    """
    return metrics_by_step(files.join(files.as_file_name(eval_dir), _EVENT_FILES))


def metrics_by_step(pattern: str) -> dict[int, dict[str, float]]:
    """Return the numbers of event files: by global step, in order, the metrics by name.

    Args:
        pattern: The files' names, with wildcards.
    """
    found: dict[int, dict[str, float]] = {}
    for event in _events(pattern):
        numbers = {
            value.tag: number for value in event.summary.value if (number := _number(value)) is not None
        }
        if numbers:
            found.setdefault(event.step, {}).update(numbers)
    return dict(sorted(found.items()))


def find_write_times(eval_dir: str | os.PathLike[str]) -> dict[int, float]:
    """Return when evaluations have written their metrics last: by global step, in seconds since 1970.

    Args:
        eval_dir: The folder, as `Estimator.eval_dir()` returns it.
    """
    found: dict[int, float] = {}
    for event in _events(files.join(files.as_file_name(eval_dir), _EVENT_FILES)):
        if event.summary.value:
            found[event.step] = max(event.wall_time, found.get(event.step, 0.0))
    return found


def _events(pattern: str) -> Iterator[Any]:
    for name in sorted(files.glob(pattern)):
        try:
            yield from summary_iterator(name)
        except errors.DataLossError as error:
            # As in TensorFlow: what is damaged ends a file, and the next one is read.
            _logger.warning("The rest of an event file is passed over: %s", error)


def _number(value: Any) -> float | None:
    if value.HasField("simple_value"):
        return float(value.simple_value)
    if not value.HasField("tensor"):
        return None
    array = forms.tensorboard("util.tensor_util").make_ndarray(value.tensor)
    return float(array) if array.shape == () and array.dtype.kind in "fiu" else None
