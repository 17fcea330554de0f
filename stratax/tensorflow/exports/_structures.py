"""Structures of arguments and results as values of JSON: lists, tuples, dicts, tensors, constants (export layer)."""

from collections.abc import Callable, Mapping
from typing import Any

from stratax.base.shown import shown
from stratax.errors import BadTypeError

_CONSTANTS = (type(None), bool, int, float, str)


def encode_structure(value: object, tensor: Callable[[Any], int | None], *, what: str) -> dict[str, Any]:
    """Return a structure as values of JSON.

    Args:
        value: The structure.
        tensor: Returns the number of a leaf that stands for a tensor, and None for a constant.
        what: What has the structure, for errors.

    Raises:
        BadTypeError: It holds something else than lists, tuples, dicts, tensors and plain constants.
    """
    number = None if isinstance(value, _CONSTANTS) else tensor(value)
    if number is not None:
        return {"tensor": number}
    if isinstance(value, Mapping):
        pairs = [[key, encode_structure(part, tensor, what=what)] for key, part in value.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return {"dict": pairs}
    elif isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encode_structure(part, tensor, what=what) for part in value]}
    elif type(value) in _CONSTANTS:
        return {"constant": value}
    raise BadTypeError(
        f"{what} can't be saved. Expected: tensors, numbers, text, None, and lists, tuples and dicts of them. "
        f"Received: {shown(value)}."
    )


def decode_structure(tree: Mapping[str, Any], tensors: Callable[[int], Any]) -> Any:
    """Return the structure that :func:`encode_structure` has described.

    Args:
        tree: What it has given.
        tensors: Returns what comes in the place of a tensor, by its number.
    """
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return tensors(value)
    if kind == "constant":
        return value
    if kind == "dict":
        return {key: decode_structure(part, tensors) for key, part in value}
    parts = [decode_structure(part, tensors) for part in value]
    return parts if kind == "list" else tuple(parts)


def match_structure(tree: Mapping[str, Any], value: object, found: dict[int, Any]) -> bool:
    """Return whether a value has a structure and its constants, and note what it has in the places of tensors.

    Args:
        tree: The structure, as :func:`encode_structure` has described it.
        value: The value.
        found: What comes in the place of each tensor, by number.
    """
    ((kind, expected),) = tree.items()
    if kind == "tensor":
        found[expected] = value
        return value is not None
    if kind == "constant":
        return type(value) is type(expected) and bool(value == expected)
    if kind == "dict":
        return (
            isinstance(value, Mapping)
            and list(value.keys() ^ dict(expected)) == []
            and all(match_structure(part, value[key], found) for key, part in expected)
        )
    return (
        isinstance(value, list | tuple)
        and len(value) == len(expected)
        and all(match_structure(part, each, found) for part, each in zip(expected, value, strict=True))
    )
