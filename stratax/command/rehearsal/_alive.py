"""Objects of a kind, wherever a program keeps them (rehearsal layer)."""

import gc
from collections.abc import Iterator
from typing import Any


def alive(kinds: tuple[type, ...]) -> Iterator[Any]:
    """Return the objects of these classes that there are."""
    is_one: dict[type, bool] = {}
    for each in gc.get_objects():
        # By type: asking an object for its class may run code of its own (proxies).
        kind = type(each)
        if kind not in is_one:
            is_one[kind] = issubclass(kind, kinds)
        if is_one[kind]:
            yield each
