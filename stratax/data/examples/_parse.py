"""Parsing of serialized Examples and SequenceExamples to arrays (data layer).

The meaning stands here, on protobuf's messages; `_columnar_parse.py` is the quick way for batches of Examples that are
alike, and whatever it does not recognise comes here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stratax.base.shown import shown
from stratax.base.typing import PyTree
from stratax.data.elements import SparseTensor, TextScalar, as_objects
from stratax.data.examples._columnar_parse import parse_columns
from stratax.data.examples._composed import compose
from stratax.data.examples._example import Example
from stratax.data.examples._features import FixedLenSequenceFeature, ParsedFeature, VarLenFeature
from stratax.data.examples._values import BYTES, KINDS, FeatureKind, Ragged, Where, error_about
from stratax.data.vectorise import BatchToCome, CannotVectorise, ResultPart, gives_tensors
from stratax.errors import BadArgumentError, BadTypeError

Parsed = dict[str, Any]
_SHOWN_BYTES = 32
# Below and above these the quick way is not quicker: it has a fixed cost, and copies the whole batch once.
_FEWEST_COLUMNAR = 24
_LONGEST_COLUMNAR = 1 << 14


@gives_tensors
def parse_single_example(
    serialized: object,
    features: Mapping[str, ParsedFeature],
    example_names: object = None,
    name: str | None = None,
) -> Parsed:
    """Parse the features of one serialized Example into arrays, as `tf.io.parse_single_example`.

    Batches are parsed many times faster: batch first, then `map(lambda records: parse_example(records, features))`.

    Args:
        serialized: The record: `bytes`.
        features: What to make of each feature, by name; others are passed over.
        example_names: The Example's name, for messages.
        name: Ignored.

    Returns:
        A dict with an array (a scalar, or `bytes`, for shape `[]`; a `SparseTensor` for a `VarLenFeature`) for each of
        `features`, on the host.

    Raises:
        DataError: `serialized` is no Example, or a feature is missing, of another dtype or of another size, which the
            message names.
        BadArgumentError: `features` is empty, or has a sequence without `allow_missing=True`.
        BadTypeError: `serialized` is not `bytes`, or `features` not made of features.

    Example:
        >>> from stratax.data import Example, Feature, Features, FixedLenFeature, Int64List, parse_single_example
        >>> example = Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[7]))}))
        >>> int(parse_single_example(example.SerializeToString(), {"label": FixedLenFeature([], "int64")})["label"])
        7
    """
    if (parts := compose(features)) is not None:
        return parts[1](parse_single_example(serialized, parts[0], example_names))
    check_features(features)
    data = as_record(serialized)
    held = decode_message(Example, data, 0, single=True).features.feature
    names = None if example_names is None else [example_names]
    parsed = {}
    for key, feature in features.items():
        where = Where(key, names, single=True)
        values = values_of(held[key], feature.kind, where, 0) if key in held else None
        parsed[key] = feature.one(values, where)
    return parsed


@gives_tensors
def parse_example(
    serialized: Any,
    features: Mapping[str, ParsedFeature],
    example_names: object = None,
    name: str | None = None,
) -> Parsed:
    """Parse the features of a batch of serialized Examples into arrays, as `tf.io.parse_example`.

    Where a pure function given to `map` does nothing but this, small batches are parsed several at a time.

    Args:
        serialized: The records: a sequence of `bytes`, or a 1-D array of them (dtype object). A single record is parsed
            as :func:`parse_single_example` does.
        features: What to make of each feature, by name; others are passed over.
        example_names: A name for each Example, for messages.
        name: Ignored.

    Returns:
        A dict with one array for each of `features`, on the host: shape `(examples, *shape)` for a `FixedLenFeature`,
        `(examples, longest, *shape)` for a `FixedLenSequenceFeature`, a `SparseTensor` of shape
        `(examples, most values)` for a `VarLenFeature`.

    Raises:
        DataError: A record is no Example, or a feature is missing, of another dtype or of another size; the message
            names it and the index.
        BadArgumentError: `features` is empty, or has a sequence without `allow_missing=True`.
        BadTypeError: `serialized` is not made of `bytes`, or `features` not of features.

    Example:
        >>> from stratax.data import Example, Feature, Features, FixedLenFeature, Int64List, parse_example
        >>> records = [
        ...     Example(features=Features(feature={"n": Feature(int64_list=Int64List(value=[n]))})).SerializeToString()
        ...     for n in range(3)
        ... ]
        >>> parse_example(records, {"n": FixedLenFeature([], "int64")})["n"].tolist()
        [0, 1, 2]
    """
    if (parts := compose(features)) is not None:
        # What is put together needs the values.
        if isinstance(serialized, BatchToCome):
            raise CannotVectorise
        return parts[1](parse_example(serialized, parts[0], example_names))
    if isinstance(serialized, BatchToCome):
        return _stand_ins(serialized, features, example_names)
    if isinstance(serialized, bytes) or (not isinstance(serialized, list) and np.ndim(serialized) == 0):
        return parse_single_example(serialized, features, example_names)
    check_features(features)
    records = as_records(serialized)
    names = as_names(example_names)
    found = _parse_batch(records, features, names)
    return {key: feature.many(found[key], Where(key, names)) for key, feature in features.items()}


def _stand_ins(
    records: BatchToCome, features: Mapping[str, ParsedFeature], example_names: object
) -> dict[str, Any]:
    """Note what is to be parsed, for a function that is found out about."""
    check_features(features)
    if example_names is not None:
        raise CannotVectorise
    kept = dict(features)
    number = records.call(lambda batches: parse_batches(batches, kept))
    return {
        key: SparseTensor(*(ResultPart(number, key, i) for i in range(3)))  # type: ignore[arg-type]
        if isinstance(feature, VarLenFeature)
        else ResultPart(number, key)
        for key, feature in kept.items()
    }


def parse_batches(batches: Sequence[Any], features: Mapping[str, ParsedFeature]) -> list[Parsed]:
    """Return what :func:`parse_example` gives for each of several batches, parsed as one.

    Args:
        batches: The batches, each as `parse_example` takes it; together at least one record.
        features: As for `parse_example`.

    Returns:
        A result for each batch.

    Raises:
        DataError: As `parse_example` does; which record is to blame is not told rightly.
    """
    listed = [as_records(batch) for batch in batches]
    # One call for all: the quick parsing has a fixed cost per call.
    found = _parse_batch([record for records in listed for record in records], features, None)
    borders = np.cumsum([0, *map(len, listed)])
    cut = {key: _cut(ragged, borders) for key, ragged in found.items()}
    return [
        {key: feature.many(cut[key][i], Where(key)) for key, feature in features.items()}
        for i in range(len(listed))
    ]


def _cut(ragged: Ragged, borders: np.ndarray) -> list[Ragged]:
    """Cut the values of several batches apart."""
    ends = np.concatenate([np.zeros(1, np.int64), ragged.counts.cumsum()])[borders]
    return [
        Ragged(ragged.values[first:last], ragged.counts[start:stop], ragged.missing[start:stop])
        for start, stop, first, last in zip(
            *(side.tolist() for side in (borders[:-1], borders[1:], ends[:-1], ends[1:])), strict=True
        )
    ]


def _parse_batch(
    records: list[bytes], features: Mapping[str, ParsedFeature], names: Sequence[Any] | None
) -> dict[str, Ragged]:
    """Parse some features of a batch: the quick way for as many Examples as it understands."""
    is_worth_it = (
        len(records) >= _FEWEST_COLUMNAR and sum(map(len, records)) < len(records) * _LONGEST_COLUMNAR
    )
    columns = parse_columns(records, features) if is_worth_it else None
    if columns is None:
        return parse_messages(records, features, range(len(records)), names)
    found, understood = columns
    if understood.all():
        return found
    # Also those that are damaged: protobuf decides what is an error.
    others = parse_messages(records, features, np.flatnonzero(~understood).tolist(), names)
    return {key: _merge(ragged, others[key], understood) for key, ragged in found.items()}


def _merge(ragged: Ragged, other: Ragged, is_first: np.ndarray) -> Ragged:
    """Merge the values of two groups of Examples in their order."""
    which = np.concatenate([np.flatnonzero(is_first), np.flatnonzero(~is_first)])
    back = np.argsort(which)
    counts = np.concatenate([ragged.counts, other.counts])
    # Values sorted by the number of their Example; stable, so they keep their order within one.
    order = np.argsort(np.repeat(which, counts), kind="stable")
    values = np.concatenate([ragged.values, other.values])[order]
    return Ragged(values, counts[back], np.concatenate([ragged.missing, other.missing])[back])


def parse_messages(
    records: Sequence[bytes],
    features: Mapping[str, ParsedFeature],
    indices: Iterable[int],
    names: Sequence[Any] | None,
) -> dict[str, Ragged]:
    """Return the values of some features in some Examples, read by protobuf.

    Args:
        records: All Examples of the batch, serialized.
        features: The features to read.
        indices: Which Examples.
        names: The names of all Examples.

    Returns:
        The values by name of the feature.
    """
    columns: dict[str, list[np.ndarray | None]] = {key: [] for key in features}
    for index in indices:
        held = decode_message(Example, records[index], index).features.feature
        for key, feature in features.items():
            values = values_of(held[key], feature.kind, Where(key, names), index) if key in held else None
            columns[key].append(values)
    return {key: make_ragged(column, features[key].kind) for key, column in columns.items()}


def make_ragged(column: Sequence[np.ndarray | None], kind: FeatureKind) -> Ragged:
    """Return values of Examples one by one, None where they are missing, as one array."""
    there = [values for values in column if values is not None]
    joined = np.concatenate(there) if there else np.empty(0, kind.dtype)
    counts = np.array([0 if values is None else len(values) for values in column], np.int64)
    return Ragged(joined, counts, np.array([values is None for values in column], bool))


def decode_message(message: Any, data: bytes, index: int, *, single: bool = False) -> Any:
    """Return a message of a class; raise a DataError that gives the index if `data` is none."""
    try:
        return message.FromString(data)
    except DecodeError as e:
        place = "The record" if single else f"Record {index} of the batch"
        raise error_about(
            index,
            f"{place} is not a serialized {message.DESCRIPTOR.name}, or it is damaged ({e}). "
            f"Received: {len(data)} bytes that begin with {shown(data[:_SHOWN_BYTES])}. Check what the file "
            "holds, and that "
            "its compression_type is right.",
        ) from e


def values_of(feature: Any, kind: FeatureKind, where: Where, index: int) -> np.ndarray | None:
    """Return the values of a `Feature` message; None if it has none of any kind."""
    held = feature.WhichOneof("kind")
    if held == kind.field:
        return as_values(getattr(feature, held).value, kind)
    if held is None:
        return None
    other = KINDS[held]
    raise error_about(
        index,
        f"{where.of(index)} has another dtype. Expected: values of {kind.label}. Received: "
        f"{len(getattr(feature, held).value)} value(s) of {other.label}. Mend the dtype in features.",
    )


def as_values(values: Sequence[Any], kind: FeatureKind) -> np.ndarray:
    """Return a repeated field as a 1-D array."""
    if kind is BYTES:
        return as_objects(values)
    return np.array(values, kind.dtype)


def check_features(features: PyTree) -> None:
    """Raise unless `features` says what to make of at least one feature of an Example."""
    if not isinstance(features, Mapping):
        raise BadTypeError(
            "features is a dict of FixedLenFeature, FixedLenSequenceFeature and VarLenFeature by name. "
            f"Received: features={shown(features)}."
        )
    if not features:
        raise BadArgumentError(
            f"features names at least one feature. Received: features={shown(features)}. Pass, for instance, "
            "{'label': FixedLenFeature([], 'int64')}."
        )
    for key, feature in features.items():
        if not isinstance(key, str) or not isinstance(feature, ParsedFeature):
            raise BadTypeError(
                "features is a dict of FixedLenFeature, FixedLenSequenceFeature and VarLenFeature by name. "
                f"Received: features[{shown(key)}]={shown(feature)}."
            )
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise BadArgumentError(
                "A FixedLenSequenceFeature of an Example needs allow_missing=True. "
                f"Received: features[{shown(key)}]={shown(feature)}. "
                "Pass allow_missing=True: a missing feature is an empty sequence."
            )


def as_record(serialized: object) -> bytes:
    """Return one record as `bytes`."""
    value = serialized[()] if isinstance(serialized, np.ndarray) and serialized.ndim == 0 else serialized
    if isinstance(value, TextScalar):
        return value[:]
    if not isinstance(value, bytes) or isinstance(value, np.bytes_):
        raise BadTypeError(
            f"A serialized Example is one `bytes`. Received: serialized={shown(serialized)} of type "
            f"{type(serialized).__name__}. Use parse_example for a batch of them."
        )
    return value


def as_records(serialized: Any) -> list[bytes]:
    """Return a batch of records as a list of `bytes`."""
    if isinstance(serialized, np.ndarray) and (serialized.dtype != object or serialized.ndim != 1):
        raise BadTypeError(
            "A batch of serialized Examples is a 1-D array of dtype object, or a list of `bytes` (NumPy's fixed-length "
            f"strings lose zeros at the end). Received: an array of dtype {serialized.dtype} and shape "
            f"{serialized.shape}. Pass a list of `bytes`."
        )
    try:
        records = serialized.tolist() if isinstance(serialized, np.ndarray) else list(serialized)
    except TypeError:
        records = [serialized]
    records = [record[:] if type(record) is TextScalar else record for record in records]
    # By `type`: other subclasses such as `np.bytes_` have dropped trailing zeros.
    if not set(map(type, records)) <= {bytes}:
        first = next(record for record in records if type(record) is not bytes)
        raise BadTypeError(
            f"A batch of serialized Examples is made of `bytes`. Received: {shown(first)} of type "
            f"{type(first).__name__} in serialized."
        )
    return records


def as_names(example_names: Any) -> list[Any] | None:
    """Return the names of a batch of Examples as a list; None if they have none."""
    if example_names is None:
        return None
    if isinstance(example_names, str | bytes) or np.ndim(example_names) != 1:
        raise BadTypeError(
            f"example_names has a name for each Example. Received: example_names={shown(example_names)} of type "
            f"{type(example_names).__name__}. Pass a list of names."
        )
    return np.asarray(example_names).tolist()
