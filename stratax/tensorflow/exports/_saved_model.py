"""SavedModels, which TensorFlow and TF Serving read, made of exports (export layer). Extra: `savedmodel`.

TensorFlow runs in a process of its own: a program that has imported `stratax.tf` can't import TensorFlow, and two
runtimes in one process share devices and threads.
"""

import importlib.metadata
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from stratax.base.shown import shown
from stratax.errors import (
    BadArgumentError,
    ClusterTimeoutError,
    InternalError,
    MissingPackageError,
    StrataxError,
)
from stratax.export.parts import Folder, new_folder
from stratax.tensorflow.exports._write_saved_model import NO_TENSORFLOW, TOO_OLD

_logger = logging.getLogger("stratax")

# What has TensorFlow.
_PACKAGES = ("tensorflow", "tensorflow-cpu")
# What a SavedModel is read of, the last one last.
_FILES = ("variables", "fingerprint.pb", "saved_model.pb")
# A large model takes a minute.
_MOST_SECONDS = 3600.0
_MOST_TEXT = 2000


def convert_to_saved_model(export: str | bytes | os.PathLike[Any], path: str | os.PathLike[str]) -> None:
    """Write an export as a SavedModel of TensorFlow.

    Its compiled functions become operations `XlaCallModule`, which TensorFlow runs on the processor, and its weights
    variables. The SavedModel appears whole or not at all.

    Args:
        export: The folder that `save` has written, for the platform ``"cpu"`` among others.
        path: The folder of the SavedModel, which is not there yet.

    Raises:
        AlreadyExistsError: There is something at `path`.
        BadArgumentError: The export has no programs for a processor.
        DataLossError: The export is damaged.
        FileMissingError: There is none.
        MissingPackageError: TensorFlow is not installed.
    """
    folder = Folder(export)
    if "cpu" not in folder.manifest.platforms:
        raise BadArgumentError(
            "A SavedModel is computed on the processor. Expected: an export for 'cpu'. Received: "
            f"{shown(folder.path)}, for {', '.join(folder.manifest.platforms)}."
        )
    with new_folder(path) as target:
        _write(folder.path, os.fspath(target))


def add_saved_model(path: str | os.PathLike[str], folder: pathlib.Path) -> None:
    """Make an export a SavedModel besides, where TensorFlow is installed; else log how one is made of it.

    An export that TensorFlow can't write stays what it is, with a warning.

    Args:
        path: The name that the folder will get.
        folder: The folder of the export, which is complete.
    """
    later = f'stratax.export.convert_to_saved_model("{os.fspath(path)}", "for_tensorflow")'
    if not _is_installed():
        _logger.info(
            "TensorFlow is not installed, so %s is an export of Stratax alone. For TensorFlow Serving: pip install "
            "'stratax-train[savedmodel]', then %s.",
            path,
            later,
        )
        return
    if "cpu" not in Folder(folder).manifest.platforms:
        return
    try:
        with tempfile.TemporaryDirectory(prefix=".saved-model-", dir=folder) as beside:
            _write(os.fspath(folder), beside)
            # Not `assets`, which is empty and a name of the export's: tables have their keys in the graph.
            for name in _FILES:
                if os.path.exists(os.path.join(beside, name)):
                    os.rename(os.path.join(beside, name), folder / name)
    except StrataxError as error:
        _logger.warning("%s is an export of Stratax alone, and no SavedModel besides: %s", path, error)


def _is_installed() -> bool:
    # Not by its import name, which `stratax.tf` can have in this process.
    return any(True for name in _PACKAGES for _ in importlib.metadata.distributions(name=name))


def _write(export: str, target: str) -> None:
    """Have TensorFlow write a SavedModel of an export into a folder that is there."""
    command = [sys.executable, "-m", "stratax.tensorflow.exports._write_saved_model", export, target]
    try:
        done = subprocess.run(
            command,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ClusterTimeoutError(
            f"TensorFlow has not written a SavedModel in {_MOST_SECONDS:g} s. Received: {shown(export)}."
        ) from None
    said = done.stderr.strip()
    if done.returncode == NO_TENSORFLOW:
        raise MissingPackageError(
            "SavedModels are written by TensorFlow. Expected: the package tensorflow. Received: "
            f"{said.splitlines()[-1] if said else 'none'}. Install it: pip install 'stratax-train[savedmodel]'. An "
            "export of Stratax itself needs none: stratax.export.save."
        )
    if done.returncode == TOO_OLD:
        raise BadArgumentError(said.splitlines()[-1])
    if done.returncode:
        raise InternalError(f"TensorFlow could not write a SavedModel. It said: {said[-_MOST_TEXT:]}")


def _environment() -> dict[str, str]:
    """Return this process' environment, but that `import tensorflow` gives TensorFlow in any case."""
    environment = dict(os.environ, KERAS_BACKEND="jax", TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu")
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    kept = [each for each in paths if each and not os.path.abspath(each).startswith(os.path.join(root, "tf"))]
    # Stratax may be used where it is not installed.
    environment["PYTHONPATH"] = os.pathsep.join([*kept, os.path.dirname(root)])
    return environment
