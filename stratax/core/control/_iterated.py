"""What a loop of a compiled function goes through besides numbers and arrays: iterators and datasets (core layer)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions
from stratax.core.control import _carry

# What a loop's body is given, of the number of the iteration and an element of each stream.
_Form = Callable[[Any, Sequence[Any]], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class _Enumerated:
    iterated: Any
    start: Any


@dataclasses.dataclass(frozen=True, slots=True)
class _Zipped:
    iterated: tuple[Any, ...]


def is_stream(value: object) -> bool:
    """Return whether a compiled loop goes through `value` by taking elements of streams."""
    return isinstance(value, (regions.Stream, regions.StreamSource, regions.CallPass, _Enumerated, _Zipped))


def elements(value: object) -> _carry.Elements:
    """Return how a compiled loop goes through a stream, a dataset, or what :func:`combine` made of them."""
    streams, form = _parts(value)
    return _carry.Elements(None, streams=streams, form=form)


def combine(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what `iter`, `enumerate` or `zip` of streams and datasets stands for, or None where Python's does."""
    if function is iter and len(args) == 1:
        return iterator(args[0])
    if function is enumerate and args and is_stream(args[0]):
        start = args[1] if len(args) > 1 else kwargs.get("start", 0)
        return _Enumerated(args[0], start)
    if function is not zip or not any(is_stream(value) for value in args):
        return None
    # How many elements a stream has is not known while tracing, so `strict` could not be checked.
    if kwargs.get("strict") or not all(is_stream(value) for value in args):
        others = [value for value in args if not is_stream(value)]
        raise errors.TracingError(
            "`zip` in a compiled function goes through datasets and iterators of datasets together, and ends with the "
            f"shortest. Expected: nothing else among them, and no strict=True. Received: {shown(others)}. Use "
            "`enumerate`, or take the other values by `next` or by index in the loop."
        )
    return _Zipped(args)


def iterator(value: object) -> Any:
    """Return what `iter(value)` gives: for a dataset a pass that begins in every call of the function."""
    if isinstance(value, (regions.Stream, regions.CallPass)):
        return value
    region = regions.current_region()
    if not isinstance(value, regions.StreamSource) or region is None:
        return None
    if not isinstance(region, regions.ProgramRegion):
        raise errors.TracingError(
            "`iter(dataset)` was called in a loop, condition or replica of a compiled function, so it is not known how "
            "often. Expected: `for element in dataset` there, or `iter(dataset)` in the function's own body. Received: "
            f"{shown(value)}."
        )
    # By its place in the function: a trace that is repeated finds the same pass.
    made = region.passes[region.next_path()] = regions.CallPass(value)
    return made


def _parts(value: object) -> tuple[tuple[Any, ...], _Form]:
    if isinstance(value, _Enumerated):
        streams, inner = _parts(value.iterated)
        start = value.start
        return streams, lambda index, taken: (start + index, inner(index, taken))
    if isinstance(value, _Zipped):
        parts = [_parts(part) for part in value.iterated]
        return tuple(stream for streams, _ in parts for stream in streams), _zip(parts)
    return (value,), lambda _, taken: taken[0]


def _zip(parts: list[tuple[tuple[Any, ...], _Form]]) -> _Form:
    def form(index: object, taken: Sequence[Any]) -> Any:
        values, offset = [], 0
        for streams, inner in parts:
            values.append(inner(index, taken[offset : offset + len(streams)]))
            # Each part takes as many elements as it has streams: parts may be zips themselves.
            offset += len(streams)
        return tuple(values)

    return form
