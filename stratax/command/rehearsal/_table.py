"""Sizes, counts and times as text (rehearsal layer)."""

import math

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_COUNTS = ("", "K", "M", "G", "T", "P", "E")


def in_bytes(size: float) -> str:
    """Return a size with a unit."""
    power = min(int(math.log2(size) // 10), len(_BYTES) - 1) if size >= 1 else 0
    return f"{size / 2 ** (10 * power):.{0 if power == 0 else 1}f} {_BYTES[power]}"


def short(number: float) -> str:
    """Return a number of three digits with a letter for thousands, millions and so on, or a space."""
    power = min(int(math.log10(number) // 3), len(_COUNTS) - 1) if number >= 1 else 0
    return f"{number / 1000**power:.3g} {_COUNTS[power]}"


def in_seconds(seconds: float) -> str:
    """Return a time with a unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
