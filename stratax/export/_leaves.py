"""What structures hold (export layer)."""

from collections.abc import Iterable, Mapping
from typing import Any

from stratax.data import SparseTensor


def leaves_in(value: object) -> Iterable[Any]:
    """Give what lists, tuples, dicts and SparseTensors hold."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from leaves_in(each)
    elif isinstance(value, list | tuple | SparseTensor):
        for each in value.parts if isinstance(value, SparseTensor) else value:
            yield from leaves_in(each)
    elif isinstance(value, slice):
        yield from (value.start, value.stop, value.step)
    else:
        yield value
