"""`tf.contrib.predictor`: functions that compute what an export serves."""

import os
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow.exports import saved_model_names
from stratax.tensorflow.saved_models import loading


class SavedModelPredictor:
    """Computes a signature of an export, as what `tf.contrib.predictor.from_saved_model` returns.

    Args:
        export_dir: The export's folder.
        signature_def_key: The signature's name; by default the one that is served.

    Raises:
        BadArgumentError: If there is no such signature.
    """

    def __init__(
        self, export_dir: str | bytes | os.PathLike[str], signature_def_key: str | None = None
    ) -> None:
        # A signature's variables live as long as what was loaded.
        self._loaded = loading.load(os.fsdecode(export_dir))
        key = signature_def_key or saved_model_names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if key not in self._loaded.signatures:
            raise errors.BadArgumentError(
                f'Got signature_def_key "{key}". Available signatures are {list(self._loaded.signatures)}.'
            )
        self._function = self._loaded.signatures[key]

    @property
    def feed_tensors(self) -> dict[str, Any]:
        """What the signature takes, by name: specs, which have names, shapes and dtypes."""
        return dict(self._function.structured_input_signature[1])

    @property
    def fetch_tensors(self) -> dict[str, Any]:
        """What it gives, likewise."""
        return dict(self._function.structured_outputs)

    def __call__(self, input_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs, NumPy's arrays by name.

        Args:
            input_dict: Arrays, numbers, text or lists by name.

        Raises:
            BadArgumentError: If a name is none of the signature's.
        """
        specs = self.feed_tensors
        unknown = set(input_dict) - set(specs)
        if unknown:
            raise errors.BadArgumentError(
                f"Got unexpected keys in input_dict: {unknown}\nexpected: {set(specs)}"
            )
        given = {name: _of_dtype(value, specs[name].dtype) for name, value in input_dict.items()}
        return {name: np.asarray(value) for name, value in self._function(**given).items()}


def _of_dtype(value: Any, dtype: Any) -> Any:
    kind = np.dtype(dtype)
    return np.asarray(value) if kind.kind in "OSU" else np.asarray(value, kind)


def from_saved_model(
    export_dir: str | bytes | os.PathLike[str],
    signature_def_key: str | None = None,
    signature_def: None = None,
    input_names: None = None,
    output_names: None = None,
    tags: str | None = None,
    graph: object = None,
    config: object = None,
) -> SavedModelPredictor:
    """Return a function that computes what an export serves, as `tf.contrib.predictor.from_saved_model`.

    Args:
        export_dir: The export's folder.
        signature_def_key: The signature's name; by default the one that is served.
        signature_def: Must be None.
        input_names: Must be None: an export has no graph, whose tensors had names.
        output_names: Likewise.
        tags: Ignored.
        graph: Ignored.
        config: Ignored.

    Raises:
        BadArgumentError: If an argument is given that must be None, or there is no such signature.
    """
    if signature_def is not None or input_names is not None or output_names is not None:
        raise errors.BadArgumentError(
            "An export's signatures are found by signature_def_key. Expected: signature_def, input_names and "
            f"output_names None. Received: {shown([signature_def, input_names, output_names])}."
        )
    return SavedModelPredictor(export_dir, signature_def_key)


def from_estimator(
    estimator: Any,
    serving_input_receiver_fn: Callable[[], Any],
    output_key: str | None = None,
    graph: object = None,
    config: object = None,
) -> SavedModelPredictor:
    """Return a function that computes an Estimator's predictions, as `tf.contrib.predictor.from_estimator`.

    Args:
        estimator: The Estimator, with a checkpoint.
        serving_input_receiver_fn: Returns what is fed.
        output_key: Which of its `export_outputs`; by default the one that is served.
        graph: Ignored.
        config: Ignored.
    """
    with tempfile.TemporaryDirectory() as folder:
        return SavedModelPredictor(
            estimator.export_saved_model(folder, serving_input_receiver_fn), output_key
        )
