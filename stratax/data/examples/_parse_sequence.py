"""Parsing of serialized SequenceExamples to arrays (data layer)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stratax.base.shown import shown
from stratax.data.elements import SparseTensor
from stratax.data.examples._composed import RaggedFeature, compose
from stratax.data.examples._example import SequenceExample
from stratax.data.examples._features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    ParsedFeature,
    VarLenFeature,
)
from stratax.data.examples._parse import (
    Parsed,
    as_names,
    as_record,
    as_records,
    decode_message,
    make_ragged,
    values_of,
)
from stratax.data.examples._partitions import in_rows
from stratax.data.examples._values import Where, error_about, places_in_rows
from stratax.data.vectorise import gives_tensors
from stratax.errors import BadArgumentError, BadTypeError, DataError

Features = Mapping[str, ParsedFeature]


class _Steps(NamedTuple):
    """The values of one feature list in several SequenceExamples: flat, with a count for each step."""

    values: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray


@gives_tensors
def parse_single_sequence_example(
    serialized: object,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_name: object = None,
    name: str | None = None,
) -> tuple[Parsed, Parsed]:
    """Parse the context and the sequences of one SequenceExample, as `tf.io.parse_single_sequence_example`.

    Args:
        serialized: The record: `bytes`.
        context_features: A `FixedLenFeature`, `VarLenFeature` or `RaggedFeature` for each feature of the context, by
            name.
        sequence_features: A `FixedLenSequenceFeature` (without a default), `VarLenFeature` or `RaggedFeature` for each
            feature list.
        example_name: The record's name, for messages.
        name: Ignored.

    Returns:
        Two dicts. The context as `parse_single_example` gives it; of each sequence an array of shape `(steps, *shape)`,
        or for a `VarLenFeature` a `SparseTensor` of shape `(steps, most values)`, for a `RaggedFeature` a RaggedTensor.
        On the host.

    Raises:
        DataError: `serialized` is no SequenceExample, or a feature or a feature list is missing, of another dtype or of
            another size; the message names it.
        BadArgumentError: Neither kind of features is given, or one stands where it can't.
        BadTypeError: `serialized` is not `bytes`, or something is no feature.
    """
    context, sequences, made = _check(context_features, sequence_features)
    names = None if example_name is None else [example_name]
    messages = [decode_message(SequenceExample, as_record(serialized), 0, single=True)]
    parsed = {}
    for key, feature in context.items():
        where = Where(key, names, single=True)
        parsed[key] = feature.one(_context_values(messages[0], feature, where, 0), where)
    lists = {}
    for key, feature in sequences.items():
        if isinstance(feature, RaggedFeature):
            lists[key] = _parse_ragged(messages, key, feature, names).values
            continue
        steps = _steps(messages, feature, Where(key, names, single=True))
        # Parsed as a batch of one, whose dimension is taken away again.
        lists[key] = _first(
            _dense(steps, feature) if isinstance(feature, FixedLenSequenceFeature) else _sparse(steps)
        )
    return made(parsed), lists


@gives_tensors
def parse_sequence_example(
    serialized: object,
    context_features: Features | None = None,
    sequence_features: Features | None = None,
    example_names: object = None,
    name: str | None = None,
) -> tuple[Parsed, Parsed, dict[str, np.ndarray]]:
    """Parse the contexts and sequences of a batch of SequenceExamples, as `tf.io.parse_sequence_example`.

    Args:
        serialized: The records: a sequence of `bytes`, or a 1-D array of them (dtype object).
        context_features: As for `parse_single_sequence_example`.
        sequence_features: As for `parse_single_sequence_example`.
        example_names: A name for each record, for messages.
        name: Ignored.

    Returns:
        Three dicts: the context as `parse_example` gives it; of each sequence an array of shape
        `(records, most steps, *shape)`, shorter ones filled up with 0 or empty byte strings, or for a `VarLenFeature` a
        `SparseTensor` of shape `(records, most steps, most values)`; and the number of steps of each record, int64, for
        each `FixedLenSequenceFeature`. On the host.

    Raises:
        DataError: A record is no SequenceExample; the message gives its index in the batch. Or a feature or a feature
            list is missing, of another dtype or of another size.
        BadArgumentError: Neither kind of features is given, or one stands where it can't.
        BadTypeError: `serialized` is not made of `bytes`, or something is no feature.
    """
    context, sequences, made = _check(context_features, sequence_features)
    names = as_names(example_names)
    messages = [decode_message(SequenceExample, data, i) for i, data in enumerate(as_records(serialized))]
    parsed = {}
    for key, feature in context.items():
        where = Where(key, names)
        column = [_context_values(message, feature, where, i) for i, message in enumerate(messages)]
        parsed[key] = feature.many(make_ragged(column, feature.kind), where)
    lists: Parsed = {}
    lengths = {}
    for key, feature in sequences.items():
        if isinstance(feature, RaggedFeature):
            lists[key] = _parse_ragged(messages, key, feature, names)
            continue
        steps = _steps(messages, feature, Where(key, names))
        if isinstance(feature, FixedLenSequenceFeature):
            lists[key], lengths[key] = _dense(steps, feature), steps.lengths
        else:
            lists[key] = _sparse(steps)
    return made(parsed), lists, lengths


def _check(
    context: Features | None, sequences: Features | None
) -> tuple[Features, Features, Callable[[Parsed], Parsed]]:
    """Return the features, those of the context without what is made of others, and what makes these."""
    context, sequences = context or {}, sequences or {}
    if not context and not sequences:
        raise BadArgumentError(
            "A SequenceExample is parsed for at least one feature. Received: empty context_features and "
            "sequence_features. Pass, for instance, sequence_features={'frames': FixedLenSequenceFeature([], 'int64')}."
        )
    _check_kinds("context_features", context, (FixedLenFeature, VarLenFeature, RaggedFeature))
    _check_kinds("sequence_features", sequences, (FixedLenSequenceFeature, VarLenFeature, RaggedFeature))
    for key, feature in sequences.items():
        if isinstance(feature, FixedLenSequenceFeature) and feature.default_value is not None:
            raise BadArgumentError(
                "A FixedLenSequenceFeature of a SequenceExample has no default. "
                f"Received: sequence_features[{shown(key)}]={shown(feature)}. Leave default_value out."
            )
    parts = compose(context)
    return (context, sequences, dict) if parts is None else (parts[0], sequences, parts[1])


def _check_kinds(argument: str, features: Features, kinds: tuple[type, ...]) -> None:
    expected = f"{argument} is a dict of {' and '.join(kind.__name__ for kind in kinds)} by name"
    if not isinstance(features, Mapping):
        raise BadTypeError(f"{expected}. Received: {argument}={shown(features)}.")
    for key, feature in features.items():
        if not isinstance(key, str) or not isinstance(feature, ParsedFeature | RaggedFeature):
            raise BadTypeError(f"{expected}. Received: {argument}[{shown(key)}]={shown(feature)}.")
        if not isinstance(feature, kinds):
            raise BadArgumentError(
                f"{expected}. Received: {argument}[{shown(key)}]={shown(feature)}. Use one of those."
            )


def _context_values(message: Any, feature: ParsedFeature, where: Where, index: int) -> np.ndarray | None:
    held = message.context.feature
    return values_of(held[where.feature], feature.kind, where, index) if where.feature in held else None


def _steps(messages: Sequence[Any], feature: ParsedFeature, where: Where) -> _Steps:
    column: list[np.ndarray | None] = []
    lengths = []
    for index, message in enumerate(messages):
        found = _steps_of_one(message, feature, where, index)
        column.extend(found)
        lengths.append(len(found))
    ragged = make_ragged(column, feature.kind)
    return _Steps(ragged.values, ragged.counts, np.array(lengths, np.int64))


def _parse_ragged(messages: Sequence[Any], key: str, feature: RaggedFeature, names: Any) -> Any:
    """Return a RaggedTensor of records, steps and what a step has; partitions have as many steps as values."""
    plain = feature.plain(key)
    steps = {name: _steps(messages, part, Where(name, names)) for name, part in plain.items()}
    lengths = steps[feature.value_key or key].lengths
    for name, found in steps.items():
        if not np.array_equal(found.lengths, lengths):
            raise DataError(
                f"The values and partitions of a RaggedFeature have as many steps. Expected: {lengths.tolist()} for "
                f"{shown(key)}. Received: {found.lengths.tolist()} in {shown(name)}. Mend the records."
            )
    values, counts = feature.divided(key, {name: (each.values, each.counts) for name, each in steps.items()})
    return in_rows(in_rows(values, counts, feature.row_splits_dtype), lengths, feature.row_splits_dtype)


def _steps_of_one(message: Any, feature: ParsedFeature, where: Where, index: int) -> list[np.ndarray | None]:
    held = message.feature_lists.feature_list
    if where.feature not in held:
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise error_about(
                index,
                f"{where.of(index)} is required but missing. Expected: a feature list for {shown(feature)}. "
                "Received: no "
                "such feature list. Pass allow_missing=True, or write the feature list.",
            )
        return []
    steps = [values_of(step, feature.kind, where, index) for step in held[where.feature].feature]
    if isinstance(feature, FixedLenSequenceFeature):
        _check_sizes(steps, feature, where, index)
    return steps


def _check_sizes(
    steps: Sequence[np.ndarray | None], feature: FixedLenSequenceFeature, where: Where, index: int
) -> None:
    for number, values in enumerate(steps):
        # A step without values of any kind is wrong, too: it cannot be told from a missing one.
        count = None if values is None else len(values)
        if count != feature.size:
            raise error_about(
                index,
                f"{where.of(index)} has another number of values in step {number} than its shape. Expected: "
                f"{feature.size} value(s) of {feature.kind.label} for shape {feature.shape}. Received: "
                f"{'values of no kind' if count is None else f'{count} value(s)'}. "
                "Mend the shape, or use VarLenFeature.",
            )


def _dense(steps: _Steps, feature: FixedLenSequenceFeature) -> np.ndarray:
    """Return a dense array of shape `(records, most steps, *shape)`."""
    longest = int(steps.lengths.max(initial=0))
    # Steps have one size, so that a sequence is a row of flat values, padded as one.
    rows = feature.padded(steps.values, steps.lengths * feature.size, longest * feature.size)
    return rows.reshape(len(steps.lengths), longest, *feature.shape)


def _sparse(steps: _Steps) -> SparseTensor:
    """Return a SparseTensor of shape `(records, most steps, most values)`."""
    positions = places_in_rows(steps.lengths)
    within = places_in_rows(steps.counts)
    indices = np.concatenate([positions[within[:, 0]], within[:, 1:]], axis=1)
    longest, most = int(steps.lengths.max(initial=0)), int(steps.counts.max(initial=0))
    return SparseTensor.of_parts((indices, steps.values, np.array([len(steps.lengths), longest, most])), 1)


def _first(found: Any) -> Any:
    """Return what a batch of one record holds."""
    if isinstance(found, SparseTensor):
        return SparseTensor.of_parts((found.indices[:, 1:], found.values, found.dense_shape[1:]), 0)
    return found[0]
