"""The messages of `tf.train.Example` and `tf.train.SequenceExample`, wire-compatible with TensorFlow (data layer)."""

from typing import Any

from stratax.io import make_messages

_MESSAGES = make_messages(
    "stratax/example.proto",
    {
        "BytesList": {"value": (1, "repeated bytes")},
        "FloatList": {"value": (1, "repeated float")},
        "Int64List": {"value": (1, "repeated int64")},
        "Feature": {
            "bytes_list": (1, "oneof BytesList"),
            "float_list": (2, "oneof FloatList"),
            "int64_list": (3, "oneof Int64List"),
        },
        "Features": {"feature": (1, "map Feature")},
        "Example": {"features": (1, "Features")},
        "FeatureList": {"feature": (1, "repeated Feature")},
        "FeatureLists": {"feature_list": (1, "map FeatureList")},
        "SequenceExample": {"context": (1, "Features"), "feature_lists": (2, "FeatureLists")},
    },
)


def _public(name: str, doc: str) -> Any:
    message = _MESSAGES[name]
    message.__doc__ = doc
    # Where pickle finds the class.
    message.__module__ = "stratax.data"
    return message


BytesList = _public(
    "BytesList", "Byte strings, wire-compatible with `tf.train.BytesList`: `BytesList(value=[b'...'])`."
)
FloatList = _public(
    "FloatList", "Float32 numbers, wire-compatible with `tf.train.FloatList`: `FloatList(value=[1.5])`."
)
Int64List = _public(
    "Int64List", "Whole numbers, wire-compatible with `tf.train.Int64List`: `Int64List(value=[1, 2])`."
)
Feature = _public(
    "Feature",
    "One of `bytes_list`, `float_list` and `int64_list`; `WhichOneof('kind')` tells which (None: none).",
)
Features = _public("Features", "Features by name: `Features(feature={'label': Feature(...)})`.")
Example = _public(
    "Example",
    """A record of named features, wire-compatible with `tf.train.Example`.

    A protobuf message: made with keyword arguments, written with `SerializeToString()` (with `deterministic=True` equal
    messages give equal bytes) and read with `Example.FromString(data)`. To read many, `parse_example` is much quicker.

    Example:
        >>> from stratax.data import Example, Feature, Features, Int64List
        >>> example = Example(features=Features(feature={"label": Feature(int64_list=Int64List(value=[7]))}))
        >>> Example.FromString(example.SerializeToString()).features.feature["label"].int64_list.value[0]
        7
    """,
)
FeatureList = _public(
    "FeatureList", "A sequence of `Feature`, one for each step: `FeatureList(feature=[Feature(...)])`."
)
FeatureLists = _public(
    "FeatureLists", "Sequences by name: `FeatureLists(feature_list={'frames': FeatureList(...)})`."
)
SequenceExample = _public(
    "SequenceExample",
    "A record of `context` (`Features`) and `feature_lists` (`FeatureLists`): `tf.train.SequenceExample`.",
)
