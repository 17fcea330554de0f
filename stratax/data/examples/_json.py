"""`decode_json_example`: examples written as JSON as serialized ones (data layer)."""

from typing import Any

import numpy as np
from google.protobuf import json_format

from stratax.base.shown import shown
from stratax.data.elements import as_objects
from stratax.data.examples._example import Example
from stratax.data.vectorise import gives_elements
from stratax.errors import BadArgumentError


@gives_elements
def decode_json_example(json_examples: Any, name: str | None = None) -> Any:
    """Return examples that are written as JSON as serialized ones, as `tf.io.decode_json_example`.

    Args:
        json_examples: Text, or an array or list of it: what protobuf's JSON format makes of a `tf.train.Example`.
        name: Ignored.

    Returns:
        `bytes`, or an array of them of the same shape, for :func:`parse_example`.

    Raises:
        BadArgumentError: It is no JSON, or not that of an example.

    Example:
        >>> from stratax.data import Example, decode_json_example
        >>> text = '{"features": {"feature": {"a": {"int64List": {"value": ["7"]}}}}}'
        >>> Example.FromString(decode_json_example(text).item()).features.feature["a"].int64_list.value[0]
        7
    """
    texts = np.asarray(json_examples, object)
    return as_objects([_serialize(text) for text in texts.reshape(-1)]).reshape(texts.shape)


def _serialize(text: Any) -> bytes:
    try:
        parsed = json_format.Parse(text, Example())
    except (json_format.ParseError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise BadArgumentError(
            f"Error while parsing JSON: {error}. Expected: protobuf's JSON of a tf.train.Example. "
            f"Received: {shown(text)}."
        ) from error
    return bytes(parsed.SerializeToString(deterministic=True))
