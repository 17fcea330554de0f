"""JSON that carries a checksum of itself (io layer)."""

import json
from typing import Any

import crc32c

from stratax.base.shown import shown

_KEY = "crc32c"


def seal_text(body: dict[str, Any]) -> bytes:
    """Return a JSON object as text, with its checksum in it."""
    # Indented for those who look into the file; the checksum is of the content, not of this text.
    return json.dumps({**body, _KEY: _checksum(body)}, indent=1).encode()


def unseal_text(content: bytes, **kind: object) -> dict[str, Any]:
    """Return what :func:`seal_text` was given.

    Args:
        content: The text.
        kind: Fields and what they have to say. They are looked at first: another version may have no such checksum.

    Raises:
        ValueError: It is something else, or was changed since.
    """
    body = json.loads(content)
    if not isinstance(body, dict):
        raise ValueError("it is no JSON object")
    # Before the checksum: another format may compute it in another way.
    for name, value in kind.items():
        if body.get(name) != value:
            raise ValueError(f"{name} {shown(body.get(name))} instead of {shown(value)}")
    if body.pop(_KEY, None) != _checksum(body):
        raise ValueError("its checksum is wrong")
    return body


def _checksum(body: dict[str, Any]) -> int:
    # Of a canonical form: JSON does not keep the order of keys everywhere.
    return crc32c.crc32c(json.dumps(body, sort_keys=True).encode())
