"""Checks of numbers that plans and resolvers share (cluster layer)."""

import numbers

from stratax.base.shown import shown
from stratax.errors import BadArgumentError, BadTypeError


def check_least(name: str, value: float, least: float) -> None:
    """Check a number.

    Args:
        name: What it is called.
        value: The number.
        least: The smallest that it may be.

    Raises:
        BadTypeError: If it is not a number.
        BadArgumentError: If it is too small.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise BadTypeError(f"{name} must be a number. Received: {name}={shown(value)}.")
    if value < least:
        raise BadArgumentError(f"{name} must be at least {least}. Received: {name}={shown(value)}.")


def check_port(name: str, port: int, count: int = 1) -> None:
    """Check a port, or the first of several.

    Args:
        name: What it is called.
        port: The port.
        count: How many there are, one after the other.

    Raises:
        BadTypeError: If it is not an int.
        BadArgumentError: If it is out of range.
    """
    if isinstance(port, bool) or not isinstance(port, numbers.Integral):
        raise BadTypeError(f"{name} must be an int. Received: {name}={shown(port)}.")
    if not 1 <= port <= port + count - 1 <= 65535:
        raise BadArgumentError(
            f"{name} must be between 1 and {65536 - count}. Received: {name}={shown(port)}."
        )
