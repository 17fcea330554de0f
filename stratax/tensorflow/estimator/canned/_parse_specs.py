"""How Examples are parsed for canned estimators: features, labels and weights (estimator layer)."""

from collections.abc import Iterable
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import DTypeLike
from stratax.data import FixedLenFeature
from stratax.tensorflow.feature_column import (
    FeatureColumn,
    NumericColumn,
    make_parse_example_spec,
    numeric_column,
)


def classifier_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = "int64",
    label_default: object = None,
    weight_column: object = None,
) -> dict[str, Any]:
    """Return how Examples are parsed for a classifier, as `tf.estimator.classifier_parse_example_spec`.

    Args:
        feature_columns: The columns.
        label_key: By which Examples have their label.
        label_dtype: The label's dtype: `tf.string` for one of a `label_vocabulary`.
        label_default: The label of an Example without one.
        weight_column: The feature of the Examples' weights, or a numeric column.

    Returns:
        For `parse_example`, by key.

    Raises:
        BadArgumentError: If the label or the weight is among the columns, or an argument can't be.

    Example:
        >>> import stratax.estimator as estimator, stratax.feature_column as fc
        >>> sorted(estimator.classifier_parse_example_spec([fc.numeric_column("x")], "y", weight_column="w"))
        ['w', 'x', 'y']
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label(make_parse_example_spec(feature_columns), label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns: Iterable[FeatureColumn],
    label_key: str,
    label_dtype: DTypeLike = "float32",
    label_default: object = None,
    label_dimension: int = 1,
    weight_column: object = None,
) -> dict[str, Any]:
    """Return how Examples are parsed for a regressor, as `tf.estimator.regressor_parse_example_spec`.

    Args:
        feature_columns: The columns.
        label_key: By which Examples have their label.
        label_dtype: The label's dtype.
        label_default: The label of an Example without one.
        label_dimension: How many numbers it is.
        weight_column: The feature of the Examples' weights, or a numeric column.

    Returns:
        For `parse_example`, by key.

    Raises:
        BadArgumentError: If the label or the weight is among the columns, or an argument can't be.
    """
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label(make_parse_example_spec(feature_columns), label_key, label, weight_column)


def _with_label(
    spec: dict[str, Any], label_key: str, label: FixedLenFeature, weight_column: object
) -> dict[str, Any]:
    if not isinstance(label_key, str):
        raise errors.BadArgumentError(f"label_key must be a string. Received: label_key={shown(label_key)}.")
    _check_new("label_key", label_key, spec)
    spec[label_key] = label
    if weight_column is None:
        return spec
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise errors.BadArgumentError(
            "weight_column must be the name of a feature or a tf.feature_column.numeric_column. Received: "
            f"weight_column={shown(weight_column)} ({type(weight_column).__name__})."
        )
    _check_new("weight_column", column.key, spec)
    return spec | column.parse_example_spec


def _check_new(name: str, key: str, spec: dict[str, Any]) -> None:
    if key in spec:
        raise errors.BadArgumentError(
            f"{name} should not be used as a feature. Received: {name}={shown(key)}, with features "
            f"{shown(sorted(spec))}. Leave it out of feature_columns."
        )
