"""What a compiled program computes, and reads from and writes to a device's memory (rehearsal layer).

The compiler's own count (`cost_analysis()["bytes accessed"]`) takes every array of every operation, also those that
it keeps on the chip: on v4 in a common memory, on others in vector memory. Its text says of each array where it is, as
`S(n)` in the layout; nothing is said of what is in the device's large memory. For ResNet-50 on v3, where no array is
said to be elsewhere, both counts are 41.4 GB; on v4 they are 65 and 32 GB.

It counts what a loop does once. Layers that repeat are a loop of known length, of steps, of which each is one, the run
knows the number.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stratax.command.rehearsal._hlo import ARRAY, branches_of, computations_of, size_of, trips_of

_INSTRUCTION = re.compile(
    r"^\s+(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\(.*?\)|\S+) (?P<kind>[\w\-]+)\((?P<rest>.*)$"
)
_OPERAND = re.compile(r"%(?P<name>[\w.\-]+)")
_ELSEWHERE = re.compile(r"S\([1-9]")
_CALLED = re.compile(r"\b(?P<how>calls|body|to_apply)=%?(?P<name>[\w.\-]+)")
_PARAMETER = re.compile(r"^(?P<number>[0-9]+)\)")
# They give names to what is there, or the end of what has begun.
_NOTHING = frozenset(
    {"parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "iota"}
    | {"partition-id", "replica-id", "opt-barrier", "add-dependency"}
)
_ALLOCATION = 'custom_call_target="AllocateBuffer"'
_PARTS = frozenset({"slice", "dynamic-slice", "gather"})
_IN_PLACE = frozenset({"dynamic-update-slice", "scatter"})


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One line of a computation.

    Attributes:
        name: What its result is called.
        kind: What it does.
        type: Of what type the result is.
        operands: The names of what it takes.
        rest: What stands behind these.
        number: Of a parameter, which one it is.
        is_root: Whether it is the computation's result.
    """

    name: str
    kind: str
    type: str
    operands: Sequence[str]
    rest: str
    number: int
    is_root: bool


_Computations = Mapping[str, Sequence[_Instruction]]


def traffic_of(text: str, steps: int = 1) -> float:
    """Return the bytes that a step of a compiled program reads from and writes to a device's memory.

    Args:
        text: What `compiled.as_text()` gives.
        steps: How many steps the program makes in a loop, which counts once.

    Example:
        >>> traffic_of('''
        ... ENTRY %main (p: f32[8], q: f32[8]) -> f32[8] {
        ...   %p = f32[8]{0} parameter(0)
        ...   %q = f32[8]{0:T(256)S(1)} parameter(1)
        ...   ROOT %sum = f32[8]{0} add(%p, %q)
        ... }''')
        64.0
    """
    read, entry = _read(text)
    return _of_computation(entry, read, steps) if entry else 0.0


def count_repeated(text: str, steps: int = 1) -> float:
    """Return how many times as many products a step of a compiled program makes as when each loop counts once.

    Args:
        text: What `compiled.as_text()` gives.
        steps: How many steps the program makes in a loop, which counts once.
    """
    read, entry = _read(text)
    once = _count_products(entry, read, None)
    return _count_products(entry, read, steps) / once if once else 1.0


def _read(text: str) -> tuple[_Computations, str]:
    computations, entry = computations_of(text)
    return {name: _instructions(lines) for name, lines in computations.items()}, entry


def _count_runs(loop: _Instruction, steps: int | None) -> int:
    """Return how often a loop runs in a step; None counts each loop once."""
    trips = trips_of(loop.rest)
    return 1 if steps is None or trips is None or trips == steps else trips


def _count_products(name: str, computations: _Computations, steps: int | None) -> float:
    """Return how many products of numbers a computation adds up, where it multiplies matrices or convolves."""
    total = 0.0
    instructions = computations.get(name, ())
    types = {each.name: each.type for each in instructions}
    for each in instructions:
        if each.kind in ("dot", "convolution"):
            # m x k times k x n gives m x n: the root of the three sizes' product is m k n.
            sizes = [_size(types.get(operand, "")) for operand in each.operands[:2]]
            total += math.sqrt(math.prod(sizes) * _size(each.type))
        runs = _count_runs(each, steps) if each.kind == "while" else 1
        for match in _CALLED.finditer(each.rest):
            total += runs * _count_products(match["name"], computations, steps)
    return total


def _instructions(lines: Sequence[str]) -> list[_Instruction]:
    return [_instruction(match) for match in map(_INSTRUCTION.match, lines) if match]


def _instruction(match: re.Match[str]) -> _Instruction:
    rest = match["rest"]
    end = _end_of_operands(rest)
    number = _PARAMETER.match(rest) if match["kind"] == "parameter" else None
    return _Instruction(
        name=match["name"],
        kind=match["kind"],
        type=match["type"],
        operands=[operand["name"] for operand in _OPERAND.finditer(rest, 0, end)],
        rest=rest[end:],
        number=int(number["number"]) if number else -1,
        is_root=bool(match["root"]),
    )


def _end_of_operands(rest: str) -> int:
    depth = 1
    for index, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return index
    return len(rest)


def _of_computation(name: str, computations: _Computations, steps: int) -> float:
    instructions = computations.get(name, ())
    types = {each.name: each.type for each in instructions}
    return sum(_of_instruction(each, types, computations, steps) for each in instructions)


def _of_instruction(
    one: _Instruction, types: Mapping[str, str], computations: _Computations, steps: int
) -> float:
    kind = one.kind
    if kind in _NOTHING or kind.endswith(("-done", "async-update")) or _ALLOCATION in one.rest:
        return 0.0
    called = {match["how"]: match["name"] for match in _CALLED.finditer(one.rest)}
    operands = [types.get(name, "") for name in one.operands]
    match kind:
        case "while":
            return _count_runs(one, steps) * _of_computation(called["body"], computations, steps)
        case "call":
            return _of_computation(called["to_apply"], computations, steps)
        case "conditional":
            return max(
                (_of_computation(name, computations, steps) for name in branches_of(one.rest)), default=0.0
            )
        case "fusion":
            return _of_fusion(one, operands, computations)
        case "copy-start" | "slice-start" | "async-start":
            return _count_moved(one.type, operands)
        case "slice" | "dynamic-slice" | "gather":
            # As much is read as comes out.
            return _large(one.type) + (_size(one.type) if operands and _is_large(operands[0]) else 0.0)
        case "dynamic-update-slice":
            return _large(operands[1]) + (_size(operands[1]) if _is_large(one.type) else 0.0)
        case "scatter":
            # What is changed is read before it is written.
            return sum(map(_large, operands[1:])) + 2 * _size(operands[-1]) * _is_large(one.type)
    read = sum(map(_large, operands))
    # What a collective begins has its operands among its results.
    return read + max(0.0, _large(one.type) - (read if kind.endswith("-start") else 0.0))


def _of_fusion(one: _Instruction, operands: Sequence[str], computations: _Computations) -> float:
    inside = _find_called(one, computations)
    total = 0.0
    for number, operand in enumerate(operands):
        if _is_large(operand):
            read, is_whole = _read_of(number, inside, computations)
            total += _large(operand) if is_whole else min(read, _large(operand))
    arrays = [array[0] for array in ARRAY.finditer(one.type)]
    return total + _count_written_by(inside, arrays, computations)


def _read_of(number: int, inside: Sequence[_Instruction], computations: _Computations) -> tuple[float, bool]:
    """Return how much of an operand of a fusion is read, and whether it is all of it."""
    names = {each.name for each in inside if each.number == number}
    read = 0.0
    for each in inside:
        places = [place for place, name in enumerate(each.operands) if name in names]
        if not places:
            continue
        if each.kind == "bitcast":
            names.add(each.name)
        elif each.kind in _PARTS and places == [0]:
            read += _size(each.type)
        elif each.kind == "dynamic-update-slice" and places == [0]:
            continue  # It is written in place.
        elif each.kind == "scatter" and places == [0]:
            read += _size_of_update(each, inside)
        elif each.kind == "fusion":
            nested = _find_called(each, computations)
            for place in places:
                part, is_whole = _read_of(place, nested, computations)
                if is_whole and not _is_another_name(place, nested):
                    return 0.0, True
                read += part
            if all(_is_another_name(place, nested) for place in places):
                names.add(each.name)
        else:
            return 0.0, True
    return read, any(each.is_root and each.name in names for each in inside)


def _is_another_name(number: int, inside: Sequence[_Instruction]) -> bool:
    """Return whether a fusion only gives an operand another name."""
    return all(each.kind in ("parameter", "bitcast") for each in inside) and any(
        each.number == number for each in inside
    )


def _count_written_by(
    inside: Sequence[_Instruction], arrays: Sequence[str], computations: _Computations
) -> float:
    """Return how much of its results a fusion writes: only the new part of what it changes in place."""
    known = {each.name: each for each in inside}
    root = next((each for each in inside if each.is_root), None)
    if root is not None and root.kind == "tuple" and len(root.operands) == len(arrays):
        made = [known.get(name) for name in root.operands]
    else:
        made = [root] * len(arrays) if len(arrays) == 1 else [None] * len(arrays)
    return sum(
        _count_written(each, array, inside, computations)
        for each, array in zip(made, arrays, strict=True)
        if _is_large(array)
    )


def _count_written(
    one: _Instruction | None, array: str, inside: Sequence[_Instruction], computations: _Computations
) -> float:
    known = {each.name: each for each in inside}
    while one is not None and one.kind == "bitcast" and one.operands:
        one = known.get(one.operands[0])
    if one is not None and one.kind == "fusion":
        return _count_written_by(_find_called(one, computations), [array], computations)
    if one is not None and one.kind in _IN_PLACE:
        return min(_size_of_update(one, inside), _size(array))
    return _size(array)


def _size_of_update(one: _Instruction, inside: Sequence[_Instruction]) -> float:
    """Return the bytes of what is put into an array that is changed in place."""
    position = 1 if one.kind == "dynamic-update-slice" else -1
    update = next((each for each in inside if each.name == one.operands[position]), None)
    return _size(update.type) if update is not None else _size(one.type)


def _find_called(one: _Instruction, computations: _Computations) -> Sequence[_Instruction]:
    match = _CALLED.search(one.rest)
    return computations.get(match["name"], ()) if match else ()


def _count_moved(type_: str, operands: Sequence[str]) -> float:
    """Return what a copy or slice in the background reads and writes: the size of its result, at either end."""
    arrays = list(ARRAY.finditer(type_))
    source = operands[0] if operands else ""
    inputs = len(list(ARRAY.finditer(source)))
    # Copies give their result first, what else is done in the background its operands.
    is_copy = len(arrays) > 1 and not type_.startswith("((")
    result = arrays[0] if is_copy else arrays[inputs] if len(arrays) > inputs else None
    if result is None:
        return 0.0
    return size_of(result) * (_is_large(source) + (_ELSEWHERE.search(result["layout"] or "") is None))


def _large(type_: str) -> float:
    """Return the bytes of those arrays of a type that are in the device's large memory."""
    return float(
        sum(size_of(array) for array in ARRAY.finditer(type_) if not _ELSEWHERE.search(array["layout"] or ""))
    )


def _size(type_: str) -> float:
    return float(sum(size_of(array) for array in ARRAY.finditer(type_)))


def _is_large(type_: str) -> bool:
    return _large(type_) > 0
