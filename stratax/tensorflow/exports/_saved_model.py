"""SavedModels, which TensorFlow and TF Serving read, made of exports (export layer). Extra: `savedmodel`.

TensorFlow runs in a process of its own: a program that has imported `stratax.tf` can't import TensorFlow, and two
runtimes in one process share devices and threads.
"""

import os
import subprocess
import sys
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, ClusterTimeoutError, InternalError, MissingPackageError
from stratax.export.parts import Folder, new_folder
from stratax.tensorflow.exports._write_saved_model import NO_TENSORFLOW, TOO_OLD

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
        command = [
            sys.executable,
            "-m",
            "stratax.tensorflow.exports._write_saved_model",
            folder.path,
            os.fspath(target),
        ]
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
                f"TensorFlow has not written a SavedModel in {_MOST_SECONDS:g} s. Received: {shown(folder.path)}."
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
