"""How a compiled loop takes its input from streams: one block for all iterations (core layer)."""

import dataclasses
from typing import Any

import jax

from stratax import errors
from stratax.core import regions
from stratax.core.control import _body, _conditions


@dataclasses.dataclass(slots=True)
class Segment:
    """Iterations in a row whose elements have the same structures.

    Attributes:
        count: How many they are.
        structures: The structure of each stream's elements, by the stream's id.
        count_argument: The argument of the function that gives the number of iterations, if any count up to `count`
            can be served.
        pinned: The argument and its value, where the loop was compiled for exactly that.
    """

    count: int
    structures: dict[int, Any]
    count_argument: int | None
    pinned: tuple[int, int] | None

    def feed(self, parent: regions.Region, region: _body.LoopRegion) -> list[Any]:
        """Return the blocks for the iterations: an array for each input that the body takes from a stream, in order."""
        target = {
            id(taken.stream): _body.feeding_region(parent, taken.stream) for taken in region.taken_elements
        }
        blocks = {
            key: self._block(target[key], stream, region.per_iteration(stream))
            for key, stream in _streams(region).items()
        }
        # The stream is told of a loop of no iterations, but there is no block to cut.
        if not self.count:
            return []
        arrays = []
        for source in region.inputs:
            if isinstance(source, _body.TakenLeaf):
                block = blocks[id(source.taken.stream)][source.index]
                start = source.taken.offset
                rows = block[:, start : start + source.taken.count]
                # A single element is taken without the axis of a block.
                arrays.append(rows if source.taken.block else rows[:, 0])
        return arrays

    def _block(self, target: Any, stream: object, per_iteration: int) -> list[jax.Array]:
        block = target.feed(
            stream,
            self.structures[id(stream)],
            count=self.count * per_iteration,
            block=True,
            count_argument=self.count_argument,
            per_count=per_iteration,
            pinned=self.pinned,
        )
        # The block is fed flat; the loop goes along the first axis.
        return [a.reshape(self.count, per_iteration, *a.shape[1:]) for a in jax.tree.leaves(block)]


def plan(parent: regions.Region, region: _body.LoopRegion, length: object, bound: object) -> list[Segment]:
    """Cut a loop that takes input into segments of one structure each.

    Args:
        parent: The region that the loop stands in.
        region: The region of its traced body.
        length: The number of iterations: an int, or the tracer of an argument.
        bound: The array that is the number of iterations, where it is one unchanged.

    Raises:
        TracingError: If the structures change and an iteration takes more than one element.
        OutOfRangeError: If a stream has too few elements left. None is lost.
    """
    streams = _streams(region)
    count = find_known_count(parent, length, bound)
    if count is None:
        raise AssertionError  # Such loops are driven.
    argument = None if isinstance(length, int) else parent.argument_index(bound)  # type: ignore[attr-defined]
    runs = {key: _runs(parent, region, stream, count) for key, stream in streams.items()}
    pinned = None if argument is None else (argument, count)
    if not count:
        return [Segment(0, dict.fromkeys(streams, ()), None, pinned)]
    # One structure for all elements: one loop, whose number of iterations may even be an argument.
    if all(len(run) == 1 for run in runs.values()):
        return [Segment(count, {key: run[0][0] for key, run in runs.items()}, argument, None)]
    return [
        Segment(length, structures, None, pinned)
        for length, structures in _cut(
            {key: (run, region.per_iteration(streams[key])) for key, run in runs.items()}
        )
    ]


def _streams(region: _body.LoopRegion) -> dict[int, Any]:
    return {id(taken.stream): taken.stream for taken in region.taken_elements}


def find_known_count(parent: regions.Region, length: object, bound: object) -> int | None:
    """Return the number of iterations of a loop, if the program can know it before it runs."""
    if isinstance(length, int):
        return length
    if isinstance(parent, regions.ProgramRegion) and _conditions.is_traced(bound):
        index = parent.argument_index(bound)
        return None if index is None else int(parent.known[index])
    return None


def _runs(
    parent: regions.Region, region: _body.LoopRegion, stream: object, count: int
) -> list[tuple[Any, int]]:
    per_iteration = region.per_iteration(stream)
    skip = _body.feeding_region(parent, stream).count_taken(stream)
    runs = parent.peek(stream, skip, count * per_iteration)
    if len(runs) > 1 and per_iteration > 1:
        raise errors.TracingError(
            f"A loop takes {per_iteration} elements of an iterator in every iteration, and their shapes differ. "
            "Expected: one call of next(iterator) per iteration, or elements of one shape "
            f"(`batch(..., drop_remainder=True)`). Received: {_describe(runs)}."
        )
    return runs


def _describe(runs: list[tuple[Any, int]]) -> str:
    shapes = [(length, jax.tree.map(lambda leaf: tuple(leaf.shape), structure)) for structure, length in runs]
    return ", ".join(f"{length} of {shape}" for length, shape in shapes)


def _cut(runs: dict[int, tuple[list[tuple[Any, int]], int]]) -> list[tuple[int, dict[int, Any]]]:
    """Cut several streams' runs where any of them changes: pairs of a length and the structures by stream."""
    ends: dict[int, list[tuple[int, Any]]] = {}
    for key, (stream_runs, per_iteration) in runs.items():
        end = 0
        ends[key] = [(end := end + length // per_iteration, structure) for structure, length in stream_runs]
    # All places where any stream changes: between two of them every stream has one structure.
    cuts = sorted({end for stream_ends in ends.values() for end, _ in stream_ends})
    segments = []
    start = 0
    for cut in cuts:
        structures = {
            key: next(s for end, s in stream_ends if end >= cut) for key, stream_ends in ends.items()
        }
        segments.append((cut - start, structures))
        start = cut
    return segments
