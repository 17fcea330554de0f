"""Checks that the plans of launches and manifests share (cluster layer)."""

from stratax.errors import BadArgumentError


def check_least(name: str, value: float, least: float) -> None:
    """Checks a number.

    Args:
        name: What it is called.
        value: The number.
        least: The smallest that it may be.

    Raises:
        BadArgumentError: If it is too small.
    """
    if value < least:
        raise BadArgumentError(f"{name} must be at least {least}. Received: {name}={value!r}.")


def check_port(port: int, count: int = 1) -> None:
    """Checks a port, or the first of several.

    Args:
        port: The port.
        count: How many there are, one after the other.

    Raises:
        BadArgumentError: If it is none.
    """
    if not 1 <= port <= port + count - 1 <= 65535:
        raise BadArgumentError(f"port must be one, 1 to {65536 - count}. Received: port={port!r}.")
