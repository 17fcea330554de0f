"""The place of an iterator as JSON can hold it (data layer)."""

import base64
import binascii
from typing import Any

import numpy as np

from stratax.base.shown import shown
from stratax.errors import DataError

_TAG = "int64"


def to_json(state: object) -> Any:
    """Return a tree of dicts, lists, numbers, strings and int64 arrays with the arrays as tagged base64."""
    if isinstance(state, dict):
        return {name: to_json(part) for name, part in state.items()}
    if isinstance(state, list | tuple):
        return [to_json(part) for part in state]
    if isinstance(state, np.ndarray):
        # Little-endian whatever the machine, so that a state can be read on another one.
        return {_TAG: base64.b64encode(np.ascontiguousarray(state, "<i8").tobytes()).decode("ascii")}
    return state.item() if isinstance(state, np.generic) else state


def from_json(state: object) -> Any:
    """Undo :func:`to_json`.

    Raises:
        DataError: An array is not what :func:`to_json` writes.
    """
    if isinstance(state, list):
        return [from_json(part) for part in state]
    if not isinstance(state, dict):
        return state
    # No state has a single entry of this name with a string in it, so the tag cannot be mistaken.
    if set(state) == {_TAG} and isinstance(state[_TAG], str):
        return _array(state[_TAG])
    return {name: from_json(part) for name, part in state.items()}


def _array(text: str) -> np.ndarray:
    try:
        # `astype` copies: `frombuffer` gives memory that cannot be written to.
        return np.frombuffer(base64.b64decode(text, validate=True), "<i8").astype(np.int64)
    except (binascii.Error, ValueError) as e:
        raise DataError(
            "A saved place of an iterator is damaged. Expected: base64 of int64 numbers. "
            f"Received: {shown(text[:40])}. Use a state that get_state() returned."
        ) from e
