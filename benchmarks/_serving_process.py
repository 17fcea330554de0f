"""A server in a process of its own: of exports, or of SavedModels that TensorFlow computes."""

import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax.command.serving import ModelServer, ServingOptions, _versions
from stratax.export import TensorInfo


class SavedModel:
    """What the server takes for an export, computed by TensorFlow.

    Args:
        path: The SavedModel's folder.
    """

    def __init__(self, path: str) -> None:
        import tensorflow as tf

        self._loaded = tf.saved_model.load(path)
        self.signatures = {
            name: _Signature(name, function) for name, function in self._loaded.signatures.items()
        }


class _Signature:
    method = "predict"
    has_host_part = False

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.inputs = _infos(function.structured_input_signature[1])
        self.outputs = _infos(function.structured_outputs)
        self.arguments = self.inputs
        self.program = self
        self._function = function

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        import tensorflow as tf

        made = self._function(**{name: tf.constant(array) for name, array in arrays.items()})
        return {name: tensor.numpy() for name, tensor in made.items()}


def _infos(specs: Mapping[str, Any]) -> dict[str, TensorInfo]:
    return {name: TensorInfo(spec.dtype.name, tuple(spec.shape.as_list())) for name, spec in specs.items()}


def main(engine: str, base: str, max_batch: str) -> None:
    """Serves until the standard input ends; prints the port."""
    if engine == "tensorflow":
        os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
        _versions.load = SavedModel
    options = ServingOptions(models={"model": str(pathlib.Path(base))}, port=0, max_batch=int(max_batch))
    with ModelServer(options) as server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
