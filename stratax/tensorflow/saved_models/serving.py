"""SavedModels that TensorFlow wrote, as `stratax.export.load` gives what it loads (saved_models layer)."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import TensorSpec
from stratax.errors import UnimplementedError
from stratax.export.parts import STRING, LoadedSignature, PreparedCall, TensorInfo
from stratax.tensorflow.saved_models._loading import SavedModel


class ServedProgram:
    """What a signature of a file computes, on the host and the device.

    Attributes:
        name: The signature's name.
        arguments: What it takes, by name.

    Args:
        name: The signature's name.
        arguments: What it takes.
        outputs: What it gives.
        function: Computes it.
    """

    def __init__(
        self, name: str, arguments: Mapping[str, TensorInfo], outputs: Mapping[str, TensorInfo], function: Any
    ) -> None:
        self.name = name
        self.arguments = dict(arguments)
        self._outputs = dict(outputs)
        self._function = function

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return its results, by name.

        Args:
            arrays: What it takes, of the right dtypes and numbers of dimensions.
        """
        results = self._function(arrays)
        return {
            name: np.asarray(results[name]).astype(info.numpy_dtype, copy=False)
            for name, info in self._outputs.items()
        }


class FileSignature(LoadedSignature):
    """A signature of a file.

    Args:
        name: Its name.
        method: What it is for.
        function: The signature as it was loaded.
    """

    def __init__(self, name: str, method: str, function: Any) -> None:
        self.name = name
        self.method = method
        self.inputs = {
            key: _info(name, key, spec) for key, spec in function.structured_input_signature[1].items()
        }
        self.outputs = {key: _info(name, key, spec) for key, spec in function.structured_outputs.items()}
        # Both parts are made as one: for one request by itself, where the host computes.
        self.has_host_part = False
        self._before = self._after = None
        self._single = None
        # An operation that is not known is told now, and not with the first request.
        function.look()
        self.program: Any = ServedProgram(name, self.inputs, self.outputs, function)

    def finish(self, prepared: PreparedCall, results: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return what the program has given."""
        return dict(results)


class FileExport:
    """A SavedModel that was loaded to be served.

    Attributes:
        path: Its folder.
        versions: What wrote it, by name.
        platforms: Where it is computed.
        signatures: What can be called, by name.

    Args:
        path: The folder.
    """

    def __init__(self, path: str) -> None:
        model = SavedModel(path)
        self.path = path
        self.versions = {"tensorflow": model.meta.meta_info_def.tensorflow_version}
        self.platforms = (jax.default_backend(),)
        self.signatures = {
            name: FileSignature(name, model.methods.get(name, "predict"), function)
            for name, function in model.signatures.items()
        }

    def __repr__(self) -> str:
        return f"<Export {self.path!r} with {', '.join(map(str, self.signatures.values()))}>"


def load_export(path: str) -> FileExport:
    """Load a SavedModel.

    Args:
        path: The folder.

    Raises:
        DataLossError: It is damaged.
        UnimplementedError: A signature has an operation that is not known, or takes what is no array.
    """
    return FileExport(path)


def _info(signature: str, key: str, spec: Any) -> TensorInfo:
    if not isinstance(spec, TensorSpec) or spec.shape is None:
        raise UnimplementedError(
            f"The signature {shown(signature)} has a tensor that can't be served. Expected: an array of a known number "
            f"of dimensions. Received: {key}: {spec}."
        )
    return TensorInfo(STRING if spec.dtype == object else spec.dtype.name, tuple(spec.shape))
