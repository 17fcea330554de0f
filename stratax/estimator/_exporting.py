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
from stratax._shown import shown
from stratax.estimator._export_outputs import PREDICT, ExportOutput, outputs_of
from stratax.estimator._model import Model
from stratax.estimator._receivers import ServingInputReceiver, TensorServingInputReceiver
from stratax.export import ExportedFunction
from stratax.export.recording import HostRecorder, blank_trace, current_recorder, write

_logger = logging.getLogger("stratax")

# What a signature of classes or of numbers takes: one input of serialized Examples, of this name.
_EXAMPLES = "inputs"
_EXTRA = "assets.extra"
_MOST_TRIES = 10


class Serving:
    """What a serving input function makes, each time that it is traced.

    Args:
        function: The function of the user's.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        if not callable(function):
            raise errors.BadTypeError(
                "serving_input_receiver_fn must be a function without arguments. Received: "
                f"serving_input_receiver_fn={shown(function)}."
            )
        self._function = function

    def received(self) -> tuple[Any, dict[str, Any]]:
        """Return the features, and what is fed, by name; called while an export is traced."""
        receiver = self._function()
        if not isinstance(receiver, ServingInputReceiver | TensorServingInputReceiver):
            raise errors.BadTypeError(
                "serving_input_receiver_fn must return a tf.estimator.export.ServingInputReceiver. Received: "
                f"{shown(receiver)}."
            )
        if receiver.receiver_tensors_alternatives:
            _logger.warning(
                "receiver_tensors_alternatives are left out of the export: it takes the receiver_tensors only. Export "
                "once more with a function of the others."
            )
        return receiver.features, dict(receiver.receiver_tensors)

    def blank(self) -> tuple[Any, dict[str, Any]]:
        """Return blank features, and what is fed, by name: dtypes, as signatures say them."""
        found: list[Any] = []

        def traced(recorder: HostRecorder) -> None:
            features, fed = self.received()
            recorder.name_inputs(fed)
            found.extend(
                (
                    jax.tree.map(recorder.blank, features, is_leaf=recorder.is_value),
                    recorder.named_infos(),
                )
            )

        blank_trace(traced)
        features, infos = found
        return features, infos


def exported(
    model: Model,
    serving: Serving,
    infos: Mapping[str, Any],
    base: str | os.PathLike[str],
    assets_extra: Mapping[str, str] | None,
) -> str:
    """Write an export of a model that was built; return its folder.

    Args:
        model: The model, with its variables' values.
        serving: What it is fed.
        infos: What that is, by name.
        base: In which folder the export gets one, named by the time.
        assets_extra: By a path in the export, a file that it has besides.

    Raises:
        BadArgumentError: An extra file is not there, or would lie outside of the folder.
    """
    files = _checked_files(assets_extra)
    outputs = outputs_of(model.spec.predictions, model.spec.export_outputs)
    takes_examples = len(infos) == 1 and next(iter(infos.values())).dtype == "string"
    functions: dict[int, ExportedFunction] = {}
    signatures: dict[str, ExportedFunction] = {}
    left_out: list[str] = []
    for name, output in outputs.items():
        if output.method != PREDICT and not takes_examples:
            left_out.append(name)
            continue
        # One object under two names is computed by one program.
        signatures[name] = functions.setdefault(id(output), _function(model, serving, name, output))
    if left_out:
        _logger.info(
            "Signatures %s are left out of the export: those of classes and of numbers take one input of serialized "
            "tf.Examples.",
            ", ".join(left_out),
        )
    if not signatures:
        raise errors.BadArgumentError(
            "Nothing can be exported: all export_outputs are classifications or regressions, which take one input of "
            f"serialized tf.Examples. Expected: a PredictOutput, or such an input. Received: {', '.join(infos)}."
        )
    return _written(signatures, pathlib.Path(os.fsdecode(base)), files)


def _function(model: Model, serving: Serving, name: str, output: ExportOutput) -> ExportedFunction:
    def called(inputs: dict[str, Any]) -> dict[str, Any]:
        del inputs
        features, fed = serving.received()
        current_recorder().name_inputs(
            fed if output.method == PREDICT else dict.fromkeys([_EXAMPLES], next(iter(fed.values())))
        )
        spec = model.exported(features)
        return outputs_of(spec.predictions, spec.export_outputs)[name].tensors()

    return ExportedFunction(called, {}, output.method, has_placeholders=True)


def _checked_files(assets_extra: Mapping[str, str] | None) -> dict[str, str]:
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


def _copied(files: Mapping[str, str], folder: pathlib.Path, *others: object) -> dict[str, Any]:
    del others
    for target, source in files.items():
        (folder / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / target)
    return {}


def _written(signatures: Mapping[str, ExportedFunction], base: pathlib.Path, files: Mapping[str, str]) -> str:
    """Write an export into a new folder, whose name is the time and greater than those of others."""
    base.mkdir(parents=True, exist_ok=True)
    for _ in range(_MOST_TRIES):
        others = [int(each.name) for each in base.iterdir() if each.name.isdecimal()]
        path = base / str(max(int(time.time()), max(others, default=0) + 1))
        try:
            write(signatures, path, also=functools.partial(_copied, files))
        except errors.AlreadyExistsError:
            # Of another task that exports at the same moment.
            continue
        return str(path)
    raise errors.AlreadyExistsError(f"Failed to obtain a unique export directory name in {shown(str(base))}.")
