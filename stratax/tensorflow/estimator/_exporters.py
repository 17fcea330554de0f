"""When `train_and_evaluate` exports: at the end, after each evaluation, or after the best ones (estimator layer)."""

import abc
import functools
import logging
import pathlib
import re
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax import errors
from stratax import io as files
from stratax.base.shown import shown
from stratax.tensorflow.estimator._calls import arguments_of
from stratax.tensorflow.estimator.hooks import metrics_by_step

_logger = logging.getLogger("stratax")

_LOSS = "loss"
_STEP = "global_step"
# What an export's folder is called: the second in which it was made. Other numbers are somebody else's.
_TIME = re.compile("[0-9]{10}")
_COMPARED = {"best_eval_result", "current_eval_result"}


class Exporter(abc.ABC):
    """What is called after evaluations of `train_and_evaluate`, as `tf.estimator.Exporter`."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Its name, by which it has a folder below the model's."""

    @abc.abstractmethod
    def export(
        self,
        estimator: object,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        """Export a checkpoint, or do not.

        Args:
            estimator: The Estimator.
            export_path: The exporter's own folder.
            checkpoint_path: The checkpoint that was evaluated.
            eval_result: What the evaluation gave.
            is_the_final_export: Whether training is over.

        Returns:
            The path of the export; None for none.
        """


class _Exporting(Exporter):
    """An exporter that exports by an Estimator's own method."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any] | None,
        assets_extra: Mapping[str, str] | None,
        as_text: bool,
        exports_to_keep: int | None,
    ) -> None:
        if not callable(serving_input_receiver_fn):
            raise errors.BadTypeError(
                "An exporter needs a serving_input_receiver_fn: a function without arguments. Received: "
                f"serving_input_receiver_fn={shown(serving_input_receiver_fn)}."
            )
        self._name = name
        self._function = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text
        self._exports_to_keep = _check_count(exports_to_keep)

    @property
    def name(self) -> str:
        return self._name

    def _export(self, estimator: Any, export_path: str, checkpoint_path: str) -> Any:
        made = estimator.export_saved_model(
            export_path,
            self._function,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        self._remove_old(export_path)
        return made

    def _remove_old(self, export_path: str) -> None:
        if self._exports_to_keep is None:
            return
        for path in exports_in(export_path)[: -self._exports_to_keep]:
            try:
                shutil.rmtree(path)
            except OSError as error:
                _logger.warning("Can not delete the old export %s: %s", path, error)


class FinalExporter(_Exporting):
    """Exports once, when training is over, as `tf.estimator.FinalExporter`.

    Args:
        name: Its name, of which other exporters have none.
        serving_input_receiver_fn: As for `Estimator.export_saved_model`.
        assets_extra: As there.
        as_text: As there.

    Raises:
        BadTypeError: There is no function.

    Example:
        >>> import stratax.tf as tf
        >>> spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
        >>> receiver_fn = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
        >>> tf.estimator.FinalExporter("exporter", receiver_fn).name
        'exporter'
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def export(
        self,
        estimator: object,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        del eval_result
        return self._export(estimator, export_path, checkpoint_path) if is_the_final_export else None


class LatestExporter(_Exporting):
    """Exports after each evaluation, and keeps the last exports, as `tf.estimator.LatestExporter`.

    Args:
        name: Its name, of which other exporters have none.
        serving_input_receiver_fn: As for `Estimator.export_saved_model`.
        assets_extra: As there.
        as_text: As there.
        exports_to_keep: How many; None for all.

    Raises:
        BadArgumentError: `exports_to_keep` is not positive.
        BadTypeError: There is no function.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)

    def export(
        self,
        estimator: object,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        del eval_result, is_the_final_export
        return self._export(estimator, export_path, checkpoint_path)


def _loss_smaller(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    for what, given in (("best_eval_result", best_eval_result), ("current_eval_result", current_eval_result)):
        if not given or _LOSS not in given:
            raise errors.BadArgumentError(
                f"{what} has no loss. Expected: an evaluation that gives one, or another compare_fn. Received: "
                f"{shown(sorted(given or ()))}."
            )
    return bool(best_eval_result[_LOSS] > current_eval_result[_LOSS])


class BestExporter(_Exporting):
    """Exports after an evaluation that is better than all before, as `tf.estimator.BestExporter`.

    After a restart it goes on: the evaluations before are in the summaries. TensorFlow's exports the first model after
    a restart, whatever it is like.

    Args:
        name: Its name, of which other exporters have none.
        serving_input_receiver_fn: As for `Estimator.export_saved_model`.
        event_file_pattern: Where the summaries of evaluations are, below the model's folder; for
            `EvalSpec(name="test")`, pass ``"eval_test/*.tfevents.*"``. None not to read them.
        compare_fn: A function of `best_eval_result` and `current_eval_result`: whether the second is better. By default
            its loss is smaller.
        assets_extra: As for `Estimator.export_saved_model`.
        as_text: As there.
        exports_to_keep: How many; None for all.

    Raises:
        BadArgumentError: `exports_to_keep` is not positive, or `compare_fn` has other arguments.
        BadTypeError: There is no function.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = "eval/*.tfevents.*",
        compare_fn: Callable[..., Any] = _loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare = _check_compare(compare_fn)
        self._pattern = event_file_pattern
        self._model_dir: str | None = None
        self._best: Mapping[str, Any] | None = None
        self._has_exported = False

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        del is_the_final_export
        if self._model_dir != estimator.model_dir:
            self._model_dir = estimator.model_dir
            self._best = self._best_of_before(estimator.model_dir, eval_result)
            self._has_exported = bool(exports_in(export_path))
        is_better = self._best is None or bool(
            self._compare(best_eval_result=self._best, current_eval_result=eval_result)
        )
        # Summaries of evaluations whose models nobody has exported count for nothing.
        if not is_better and self._has_exported:
            return None
        made = self._export(estimator, export_path, checkpoint_path)
        self._best, self._has_exported = dict(eval_result), True
        return made

    def _best_of_before(self, model_dir: str, eval_result: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the best evaluation that the summaries have, but for the one that has just been written."""
        if self._pattern is None:
            return None
        best: Mapping[str, Any] | None = None
        for step, found in metrics_by_step(files.join(model_dir, self._pattern)).items():
            if step == eval_result.get(_STEP):
                continue
            result = {_STEP: step, **found}
            if best is None or self._compare(best_eval_result=best, current_eval_result=result):
                best = result
        return best


def _check_compare(compare_fn: Any) -> Callable[..., Any]:
    names: list[str] = []
    if callable(compare_fn):
        bound = compare_fn.keywords if isinstance(compare_fn, functools.partial) else {}
        names = [name for name in arguments_of(compare_fn) if name not in bound]
    if set(names) != _COMPARED:
        raise errors.BadArgumentError(
            "compare_fn must be a function with the arguments best_eval_result and current_eval_result. "
            f"Received: compare_fn={shown(compare_fn)}."
        )
    return compare_fn  # type: ignore[no-any-return]


def _check_count(exports_to_keep: object) -> int | None:
    if exports_to_keep is None:
        return None
    if isinstance(exports_to_keep, bool) or not isinstance(exports_to_keep, int | np.integer):
        raise errors.BadTypeError(
            "exports_to_keep must be a whole number, or None for all. "
            f"Received: exports_to_keep={shown(exports_to_keep)}."
        )
    if exports_to_keep < 1:
        raise errors.BadArgumentError(
            "exports_to_keep, if provided, must be a positive number. "
            f"Received: exports_to_keep={shown(exports_to_keep)}. Pass None to keep all."
        )
    return int(exports_to_keep)


def exports_in(export_path: str) -> list[pathlib.Path]:
    """Return the exports in a folder, from the oldest to the newest: folders named by a time, as TensorFlow's."""
    try:
        found = list(pathlib.Path(export_path).iterdir())
    except FileNotFoundError:
        return []
    exports = [each for each in found if _TIME.fullmatch(each.name) and each.is_dir()]
    return sorted(exports, key=lambda each: int(each.name))
