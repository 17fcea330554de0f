"""The export of a model: a folder with a signature for each of its outputs (estimator layer)."""

import functools
import logging
import os
import pathlib
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions
from stratax.export import ExportedFunction
from stratax.tensorflow.estimator._evaluation import update_of, value_of
from stratax.tensorflow.estimator._export_outputs import PREDICT, ExportOutput, SupervisedOutput, outputs_of
from stratax.tensorflow.estimator._mode_keys import ModeKeys
from stratax.tensorflow.estimator._model import EstimatorModel
from stratax.tensorflow.estimator._receivers import (
    ServingInputReceiver,
    SupervisedInputReceiver,
    TensorServingInputReceiver,
)
from stratax.tensorflow.exports.recording import HostRecorder, blank_trace, current_recorder, info_of, write
from stratax.tensorflow.exports.saved_model import add_saved_model
from stratax.tensorflow.v1 import ModelScope

_logger = logging.getLogger("stratax")

# What a signature of classes or of numbers takes: one input of serialized Examples, of this name.
_EXAMPLES = "inputs"
_EXTRA = "assets.extra"
_MOST_TRIES = 10


class Serving:
    """What a function that makes the inputs of an export makes, each time that it is traced.

    Args:
        function: The function of the user's.
        mode: The mode of the model that gets it.
        shares_sizes: Whether inputs have sizes that are not known in common, dimension by dimension.

    Attributes:
        may_share_sizes: Whether several inputs have such, once `blank` was called.
    """

    def __init__(
        self, function: Callable[[], Any], mode: str = ModeKeys.PREDICT, *, shares_sizes: bool = False
    ) -> None:
        if not callable(function):
            raise errors.BadTypeError(
                "serving_input_receiver_fn must be a function without arguments. Received: "
                f"serving_input_receiver_fn={shown(function)}."
            )
        self._function = function
        self._mode = mode
        self._shares_sizes = shares_sizes
        self.may_share_sizes = False

    def receive(self, alternative: str | None = None) -> tuple[Any, Any, dict[str, Any]]:
        """Return features, labels, and what is fed, by name; called while an export is traced.

        Args:
            alternative: The name of other tensors that are fed; None for the usual ones.
        """
        features, labels, fed = self._parts()
        return features, labels, fed[alternative]

    def blank(self) -> tuple[Any, dict[str | None, dict[str, Any]]]:
        """Return blank features with labels, and what is fed, as signatures say it, by name, of each alternative."""
        found: list[Any] = []

        def trace(recorder: HostRecorder) -> None:
            features, labels, fed = self._parts()
            infos = {
                name: {key: info_of(value) for key, value in tensors.items()} for name, tensors in fed.items()
            }
            recorder.inputs.give_names(fed[None])
            self.may_share_sizes = recorder.inputs.may_share_sizes
            element = jax.tree.map(recorder.blank, (features, labels), is_leaf=recorder.is_value)
            found.extend((element, infos))

        blank_trace(trace)
        element, infos = found
        return element, infos

    def _parts(self) -> tuple[Any, Any, dict[str | None, dict[str, Any]]]:
        """Return features, labels, and what may be fed: the usual tensors under None, and others by their names."""
        current_recorder().inputs.shares_sizes = self._shares_sizes
        receiver = self._function()
        if self._mode != ModeKeys.PREDICT:
            if not isinstance(receiver, SupervisedInputReceiver):
                raise errors.BadTypeError(
                    f"An export for {self._mode} takes labels, too. Expected: what the function of "
                    "tf.estimator.experimental.build_raw_supervised_input_receiver_fn returns. "
                    f"Received: {shown(receiver)}."
                )
            return receiver.features, receiver.labels, {None: dict(receiver.receiver_tensors)}
        if not isinstance(receiver, ServingInputReceiver | TensorServingInputReceiver):
            raise errors.BadTypeError(
                "serving_input_receiver_fn must return a tf.estimator.export.ServingInputReceiver. Received: "
                f"{shown(receiver)}."
            )
        others = receiver.receiver_tensors_alternatives or {}
        return receiver.features, None, {None: dict(receiver.receiver_tensors), **others}


def write_with_sizes(
    write: Callable[[Mapping[str, Serving]], str], functions: Mapping[str, Callable[[], Any]]
) -> str:
    """Write an export whose inputs have any sizes; if the model combines them, any that are the same in all inputs.

    TensorFlow's placeholders do not say which of their sizes have to be equal: that shows where a model computes with
    several. An export with sizes in common checks them when it is called.

    Args:
        write: Writes it of what makes inputs, by mode; returns its path.
        functions: The user's functions, by mode.
    """
    servings = {mode: Serving(function, mode) for mode, function in functions.items()}
    try:
        return write(servings)
    except Exception as error:
        if not any(serving.may_share_sizes for serving in servings.values()):
            raise
        _logger.info(
            "The export's inputs can't have sizes that are independent of one another (%s). It is tried with sizes "
            "that are the same in all inputs, dimension by dimension.",
            error,
        )
        try:
            return write(
                {mode: Serving(function, mode, shares_sizes=True) for mode, function in functions.items()}
            )
        except Exception:
            raise error from None


def signatures_of(
    model: EstimatorModel, serving: Serving, infos: Mapping[str | None, Mapping[str, Any]]
) -> dict[str, ExportedFunction]:
    """Return what is exported of a model that was built, by name.

    Args:
        model: The model, with its variables' values.
        serving: What it is fed.
        infos: What that is, by name; of each alternative, None for the usual one.

    Raises:
        BadArgumentError: Nothing can be exported.
    """
    if model.mode != ModeKeys.PREDICT:
        return {model.mode: _make_supervised(model, serving)}
    outputs = outputs_of(model.spec.predictions, model.spec.export_outputs)
    signatures: dict[str, ExportedFunction] = {}
    left_out: list[str] = []
    for alternative, fed in infos.items():
        takes_examples = len(fed) == 1 and getattr(next(iter(fed.values())), "dtype", None) == "string"
        functions: dict[int, ExportedFunction] = {}
        for name, output in outputs.items():
            signature = name if alternative is None else f"{alternative}:{name}"
            if output.method != PREDICT and not takes_examples:
                left_out.append(signature)
                continue
            # One object under two names is computed by one program.
            if id(output) not in functions:
                functions[id(output)] = _function(model, serving, name, output, alternative)
            signatures[signature] = functions[id(output)]
    if left_out:
        _logger.info(
            "Signatures %s are left out of the export: those of classes and of numbers take one input of serialized "
            "tf.Examples.",
            ", ".join(left_out),
        )
    if not signatures:
        raise errors.BadArgumentError(
            "Nothing can be exported: all export_outputs are classifications or regressions, which take one input of "
            f"serialized tf.Examples. Expected: a PredictOutput, or such an input. Received: {', '.join(infos[None])}."
        )
    return signatures


def _function(
    model: EstimatorModel, serving: Serving, name: str, output: ExportOutput, alternative: str | None
) -> ExportedFunction:
    def call_model(inputs: dict[str, Any]) -> dict[str, Any]:
        del inputs
        features, labels, fed = serving.receive(alternative)
        given = fed if output.method == PREDICT else dict.fromkeys([_EXAMPLES], next(iter(fed.values())))
        if alternative is None:
            current_recorder().inputs.give_names(given)
        else:
            current_recorder().inputs.feed(given)
        spec = model.call_for_export(features, labels, shapes=_shapes_of(features))
        _forget_changes()
        return outputs_of(spec.predictions, spec.export_outputs)[name].tensors()

    return ExportedFunction(
        call_model, {}, output.method, has_placeholders=True, is_optional=alternative is not None
    )


def _make_supervised(model: EstimatorModel, serving: Serving) -> ExportedFunction:
    def call_model(inputs: dict[str, Any]) -> dict[str, Any]:
        del inputs
        features, labels, fed = serving.receive()
        current_recorder().inputs.give_names(fed)
        made = model.call_for_export(features, labels, _with_metrics, shapes=_shapes_of((features, labels)))
        return made.tensors()  # type: ignore[no-any-return]

    return ExportedFunction(call_model, {}, model.mode, has_placeholders=True)


def _shapes_of(features: object) -> list[tuple[Any, ...]]:
    recorder = current_recorder()
    return [recorder.shape_of(each) for each in jax.tree.leaves(features, is_leaf=recorder.is_value)]


def _forget_changes() -> None:
    """Have what a batch changes count as not changed: as in TensorFlow, a signature runs no updates."""
    region = regions.current_region()
    if region is not None:
        region.forget(list(region.writes.values()))


def _with_metrics(scope: ModelScope, spec: Any) -> SupervisedOutput:
    """Return what a batch gives; what it changes, such as the sums of metrics, counts as not changed."""
    metrics = dict(spec.eval_metric_ops or {})
    scope.run([[update_of(metric) for metric in metrics.values()], spec.loss])
    values = {name: value_of(scope, metric) for name, metric in metrics.items()}
    _forget_changes()
    return SupervisedOutput(scope.mode, spec.loss, spec.predictions, values)


def extra_files(assets_extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return files that an export has besides, by their paths in it.

    Raises:
        BadArgumentError: One would lie outside of the folder.
        FileMissingError: One is not there.
    """
    files = {}
    for target, source in (assets_extra or {}).items():
        parts = pathlib.PurePosixPath(target).parts
        if not parts or ".." in parts or pathlib.PurePosixPath(target).is_absolute():
            raise errors.BadArgumentError(
                f"assets_extra has a path outside of the export. Expected: a relative one. Received: {shown(target)}."
            )
        if not os.path.isfile(source):
            raise errors.FileMissingError(f"assets_extra names a file that is not there: {shown(source)}.")
        files[f"{_EXTRA}/{'/'.join(parts)}"] = os.fspath(source)
    return files


def _copy(files: Mapping[str, str], folder: pathlib.Path, *others: object) -> dict[str, Any]:
    del others
    for target, source in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / target)
    return {}


def write_export(
    signatures: Mapping[str, ExportedFunction],
    base: str | os.PathLike[str],
    files: Mapping[str, str],
) -> str:
    """Write an export into a new folder, whose name is the time and greater than those of others; return its path.

    Args:
        signatures: What it has, by name.
        base: In which folder that is.
        files: By a path in the export, a file that it has besides.
    """
    base = pathlib.Path(os.fsdecode(base))
    base.mkdir(parents=True, exist_ok=True)
    for _ in range(_MOST_TRIES):
        others = [int(each.name) for each in base.iterdir() if each.name.isdecimal()]
        path = base / str(max(int(time.time()), max(others, default=0) + 1))
        try:
            finish = functools.partial(add_saved_model, path)
            write(signatures, path, also=functools.partial(_copy, files), finish=finish)
        except errors.AlreadyExistsError:
            # Of another task that exports at the same moment.
            continue
        return str(path)
    raise errors.AlreadyExistsError(f"Failed to obtain a unique export directory name in {shown(str(base))}.")
