"""What the exports of heads answer with (estimator layer)."""

from collections.abc import Mapping
from typing import Any

from stratax.tensorflow.estimator._export_outputs import (
    DEFAULT,
    PREDICT,
    ClassificationOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
)
from stratax.tensorflow.estimator.heads._classes import all_class_ids, names_of

_CLASSIFICATION, _REGRESSION = "classification", "regression"


def of_classes(
    logits: object,
    scores: object,
    n_classes: int,
    vocabulary: tuple[str, ...] | None,
    predictions: Mapping[Any, Any],
) -> dict[str, ExportOutput]:
    """Return the outputs of a classifier: by default the score of each class, with all classes' names.

    Args:
        logits: The logits.
        scores: A score of each class, by example.
        n_classes: How many classes there are.
        vocabulary: Their names; None for their numbers.
        predictions: The head's.
    """
    classified = ClassificationOutput(scores, names_of(all_class_ids(logits, n_classes), vocabulary))
    return {DEFAULT: classified, _CLASSIFICATION: classified, PREDICT: PredictOutput(predictions)}


def of_numbers(value: object, predictions: Mapping[Any, Any]) -> dict[str, ExportOutput]:
    """Return the outputs of a regressor: by default its numbers.

    Args:
        value: The numbers.
        predictions: The head's.
    """
    regressed = RegressionOutput(value)
    return {DEFAULT: regressed, _REGRESSION: regressed, PREDICT: PredictOutput(predictions)}


def with_regression(outputs: dict[str, ExportOutput], value: object) -> dict[str, ExportOutput]:
    """Return outputs with numbers as one more."""
    return {**outputs, _REGRESSION: RegressionOutput(value)}


def of_several(outputs: Mapping[str, Mapping[str, ExportOutput]]) -> dict[str, ExportOutput]:
    """Return the outputs of several heads: by default those of the first.

    Args:
        outputs: By the heads' names, what each gives.
    """
    made: dict[str, ExportOutput] = {}
    merged: dict[str, Any] = {}
    for name, own in outputs.items():
        made.setdefault(DEFAULT, own[DEFAULT])
        for key, each in own.items():
            made[name if key == DEFAULT else f"{name}/{key}"] = each
        merged.update({f"{name}/{key}": value for key, value in own[PREDICT].tensors().items()})
    return {**made, PREDICT: PredictOutput(merged)}
