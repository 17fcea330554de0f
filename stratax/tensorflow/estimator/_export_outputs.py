"""What an export answers with: predictions, classes with scores, or numbers (estimator layer)."""

import abc
from collections.abc import Mapping
from typing import Any

import numpy as np

from stratax import errors
from stratax.base.shown import shown

# TensorFlow's name of the signature that is asked for where none is named.
DEFAULT = "serving_default"
PREDICT, CLASSIFY, REGRESS = "predict", "classify", "regress"
EVALUATE, TRAIN = "eval", "train"
_TEXT_KINDS = ("O", "S", "U")


class ExportOutput(abc.ABC):
    """What a signature of an export gives, as `tf.estimator.export.ExportOutput`.

    Attributes:
        method: What the signature is for: ``"predict"``, ``"classify"``, ``"regress"``, ``"eval"`` or ``"train"``.
    """

    method: str

    @abc.abstractmethod
    def tensors(self) -> dict[str, Any]:
        """Return what it gives, by the names that clients get."""


class PredictOutput(ExportOutput):
    """Any predictions, as `tf.estimator.export.PredictOutput`.

    Args:
        outputs: Tensors by name; one by itself is called ``"output"``.

    Attributes:
        outputs: The same, by name.

    Raises:
        BadArgumentError: A name is no string, or there are none.

    Example:
        >>> from stratax.tf.estimator.export import PredictOutput
        >>> sorted(PredictOutput({"logits": [[0.5]], "class": [1]}).outputs)
        ['class', 'logits']
    """

    method = PREDICT

    def __init__(self, outputs: object) -> None:
        given = dict(outputs) if isinstance(outputs, Mapping) else {"output": outputs}
        # Of a model with several heads, the head's name is the first part.
        self.outputs = {
            "/".join(name) if isinstance(name, tuple) else name: each for name, each in given.items()
        }
        wrong = [each for each in self.outputs if not isinstance(each, str)]
        if wrong or not self.outputs:
            raise errors.BadArgumentError(
                "Prediction output key must be a string. Expected: at least one tensor, by name. "
                f"Received: {shown(wrong[0] if wrong else outputs)}."
            )

    def tensors(self) -> dict[str, Any]:
        """Return the predictions."""
        return dict(self.outputs)


class ClassificationOutput(ExportOutput):
    """Classes, scores or both, as `tf.estimator.export.ClassificationOutput`.

    Args:
        scores: Numbers, of shape `(batch, n)`.
        classes: Text, of shape `(batch, n)`.

    Attributes:
        scores: The scores, or None.
        classes: The classes, or None.

    Raises:
        BadArgumentError: Neither is given, scores are no numbers, or classes no text.
    """

    method = CLASSIFY

    def __init__(self, scores: object = None, classes: object = None) -> None:
        if scores is None and classes is None:
            raise errors.BadArgumentError("Cannot create a ClassificationOutput with empty arguments.")
        if scores is not None and _is_text(scores):
            raise errors.BadArgumentError(
                f"Classification scores must be a float32 Tensor; got {shown(scores)}."
            )
        if classes is not None and not _is_text(classes):
            raise errors.BadArgumentError(
                f"Classification classes must be a string Tensor; got {shown(classes)}. Use tf.strings.as_string."
            )
        self.scores, self.classes = scores, classes

    def tensors(self) -> dict[str, Any]:
        """Return classes and scores, as far as they are given."""
        given = {"classes": self.classes, "scores": self.scores}
        return {name: each for name, each in given.items() if each is not None}


class RegressionOutput(ExportOutput):
    """One number for each example, as `tf.estimator.export.RegressionOutput`.

    Args:
        value: Numbers, of shape `(batch,)` or `(batch, 1)`.

    Attributes:
        value: The same.

    Raises:
        BadArgumentError: They are no numbers.
    """

    method = REGRESS

    def __init__(self, value: object) -> None:
        if _is_text(value):
            raise errors.BadArgumentError(
                f"Regression output value must be a float32 Tensor; got {shown(value)}."
            )
        self.value = value

    def tensors(self) -> dict[str, Any]:
        """Return the numbers."""
        return {"outputs": self.value}


class SupervisedOutput(ExportOutput):
    """What a model gives of features and labels: its loss, predictions and metrics.

    Args:
        method: ``"eval"`` or ``"train"``.
        loss: The loss.
        predictions: Tensors by name, or one; None for none.
        metrics: By name, the value of each metric.
    """

    def __init__(self, method: str, loss: object, predictions: object, metrics: Mapping[str, Any]) -> None:
        self.method = method
        self._loss, self._predictions, self._metrics = loss, predictions, metrics

    def tensors(self) -> dict[str, Any]:
        """Return all of it, under TensorFlow's names."""
        found = {"loss": self._loss}
        if isinstance(self._predictions, Mapping):
            found.update((f"predictions/{name}", each) for name, each in self._predictions.items())
        elif self._predictions is not None:
            found["predictions"] = self._predictions
        for name, value in self._metrics.items():
            # In TensorFlow one is what it was before the batch. An export keeps nothing of the batches before.
            found[f"metrics/{name}/value"] = found[f"metrics/{name}/update_op"] = value
        return found


def _is_text(value: object) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        dtype = np.asarray(value).dtype
    return np.dtype(dtype).kind in _TEXT_KINDS


def outputs_of(predictions: object, export_outputs: Mapping[str, Any] | None) -> dict[str, ExportOutput]:
    """Return what is exported of a spec, by the names of signatures, of which one is the default.

    Args:
        predictions: The spec's.
        export_outputs: The spec's; None for its predictions.

    Raises:
        BadArgumentError: Of several none is the default.
        BadTypeError: One is no ExportOutput.
    """
    if export_outputs is None:
        if predictions is None:
            raise errors.BadArgumentError(
                "A spec without predictions and export_outputs can't be exported. Expected: EstimatorSpec(mode, "
                "predictions=...) in mode infer."
            )
        return {DEFAULT: PredictOutput(predictions)}
    for name, each in export_outputs.items():
        if not isinstance(each, ExportOutput):
            raise errors.BadTypeError(
                "Values in export_outputs must be ExportOutput objects. Expected: PredictOutput, ClassificationOutput "
                f"or RegressionOutput. Received: {shown(each)} for {shown(name)}."
            )
    found: dict[str, ExportOutput] = dict(export_outputs)
    if DEFAULT not in found:
        if len(found) != 1:
            raise errors.BadArgumentError(
                "Multiple export_outputs were provided, but none of them is specified as the default. Expected: one "
                f"under {shown(DEFAULT)}. Received: {shown(sorted(found))}."
            )
        found[DEFAULT] = next(iter(found.values()))
    return found
