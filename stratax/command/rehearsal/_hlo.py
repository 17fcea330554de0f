"""Collectives in the text of a compiled program (rehearsal layer)."""

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "collective-permute", "all-to-all")
_COMPUTATION = re.compile(r"^(?P<entry>ENTRY )?%?(?P<name>[\w.\-]+) \(.*\{\s*$")
_OPERATION = re.compile(
    rf" = (?P<type>.*?) (?P<kind>{'|'.join(_KINDS)}|ragged-all-to-all)(?P<start>-start)?\("
)
ARRAY = re.compile(r"\b(?P<dtype>pred|[a-z]+[0-9]+\w*)\[(?P<shape>[0-9,]*)\](?P<layout>\{[^}]*\})?")
_CALLED = re.compile(
    r"(?:calls|to_apply|body|condition|true_computation|false_computation)=%?(?P<name>[\w.\-]+)"
)
_BRANCHES = re.compile(r"branch_computations=\{(?P<names>[^}]*)\}")
_TWO_BRANCHES = re.compile(r"(?:true_computation|false_computation)=%?(?P<name>[\w.\-]+)")
_BODY = re.compile(r"\bwhile\(.*\bbody=%?(?P<name>[\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(?P<count>[0-9]+)"\}')
_GROUPS = re.compile(r"replica_groups=\{\{(?P<first>[0-9,]*)\}")
_IOTA_GROUPS = re.compile(r"replica_groups=\[(?P<count>[0-9]+),(?P<size>[0-9]+)\]<=")
_MESH_GROUPS = re.compile(r"replica_groups=mesh\[(?P<sizes>[^\]]*)\] \{(?P<axes>[^}]*)\}")
_AXIS = re.compile(r"'(?P<name>[^']+)'=(?P<size>[0-9]+)")
_CHAIN = re.compile(r'chain_id="(?P<number>[0-9]+)"')
_NAMED = re.compile(r'metadata=\{op_name="(?P<name>[^"]*)"')
_DEFINED = re.compile(r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = ")
_FIRST_OPERAND = re.compile(r" [\w\-]+\(%?(?P<name>[\w.\-]+)")
# From an operation without a name to one that has one, through those that only hand it on.
_FARTHEST = 8
_DTYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "s32": "int32",
    "u32": "uint32",
    "pred": "bool",
}
_BITS = re.compile(r"[a-z]+(?P<bits>[0-9]+)")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Collective:
    """A collective operation of a compiled program.

    Attributes:
        kind: ``"all-reduce"``, ``"all-gather"``, ``"reduce-scatter"``, ``"collective-permute"`` or ``"all-to-all"``.
        bytes: The size of what is combined on each device: of all parts together for a gather or scatter.
        group: How many devices take part; 0 where the program names them by pairs.
        times: How often it runs each time the program does; None for in a loop whose length only the run knows.
        dtype: The dtype of its largest array.
        elements: How many elements its array has, whole as `bytes` counts it; 0 if there are several.
        operation: What JAX calls it, by the scopes that it stands in; where the compiler has lost that, what computes
            its operand.
        overlaps: Whether it goes on while something else is computed.
        variable: The path of the variable that it gathers, or whose gradient it sums; empty for what belongs to none,
            or to several.
    """

    kind: str
    bytes: int
    group: int
    times: int | None
    dtype: str = ""
    elements: int = 0
    operation: str = ""
    overlaps: bool = False
    variable: str = ""


def collectives_of(text: str) -> list[Collective]:
    """Return the collectives of a compiled program, as XLA prints it.

    Args:
        text: What `compiled.as_text()` gives.

    Example:
        >>> collectives_of('''
        ... ENTRY %main (p: f32[8]) -> f32[8] {
        ...   %p = f32[8]{0} parameter(0)
        ...   ROOT %sum = f32[8]{0} all-reduce(%p), replica_groups={{0,1,2,3}}, to_apply=%add
        ... }''')[0].kind
        'all-reduce'
    """
    computations, entry = computations_of(text)
    return list(_collect(entry, 1, computations, set())) if entry else []


def computations_of(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the lines of each computation of a compiled program, and the name of that which is run."""
    computations: dict[str, list[str]] = {}
    current: list[str] = []
    entry = ""
    for line in text.splitlines():
        # Operations are indented; a computation's first line is not.
        match = None if line[:1].isspace() else _COMPUTATION.match(line)
        if match:
            current = computations.setdefault(match["name"], [])
            entry = match["name"] if match["entry"] else entry
        else:
            current.append(line)
    return computations, entry


def _collect(
    name: str, times: int | None, computations: dict[str, list[str]], chains: set[str]
) -> Iterator[Collective]:
    lines = computations.get(name, ())
    for line in lines:
        operation = _OPERATION.search(line)
        chain = _CHAIN.search(line)
        if operation and chain:
            # One that is computed bit by bit beside other work stands in each of the operations that do so.
            if chain["number"] in chains:
                continue
            chains.add(chain["number"])
        if operation:
            found = _collective(operation, line, times)
            # What is computed bit by bit beside other work, or begins and ends, leaves time for that.
            overlaps = bool(chain or operation["start"])
            yield dataclasses.replace(found, operation=_find_name(line, lines), overlaps=overlaps)
            continue  # What it applies is the sum of two numbers.
        body = _BODY.search(line)
        for called in _calls(line):
            trips = trips_of(line) if body and called == body["name"] else 1
            yield from _collect(
                called, None if times is None or trips is None else times * trips, computations, chains
            )


def _calls(line: str) -> list[str]:
    found = [match["name"] for match in _CALLED.finditer(line)]
    branches = _BRANCHES.search(line)
    return found + (_split_names(branches) if branches else [])


def branches_of(line: str) -> list[str]:
    """Return the computations of which a conditional runs one."""
    branches = _BRANCHES.search(line)
    return _split_names(branches) if branches else [match["name"] for match in _TWO_BRANCHES.finditer(line)]


def _split_names(branches: re.Match[str]) -> list[str]:
    return [name.strip().lstrip("%") for name in branches["names"].split(",")]


def trips_of(line: str) -> int | None:
    """Return how often a loop runs, where the program says it."""
    known = _TRIPS.search(line)
    return int(known["count"]) if known else None


def _find_name(line: str, lines: Sequence[str]) -> str:
    """Return what JAX calls an operation, or what computes its operand; empty if nothing is called anything."""
    defined = {match["name"]: each for each in lines if (match := _DEFINED.match(each))}
    for _ in range(_FARTHEST):
        named, operand = _NAMED.search(line), _FIRST_OPERAND.search(line)
        if named or operand is None or operand["name"] not in defined:
            return named["name"] if named else ""
        line = defined[operand["name"]]
    return ""


def _collective(operation: re.Match[str], line: str, times: int | None) -> Collective:
    kind = operation["kind"].removeprefix("ragged-")
    arrays = list(ARRAY.finditer(operation["type"]))
    group = _group(line)
    if operation["start"] and kind == "collective-permute":
        arrays = arrays[:1]  # Its operand, its result, and what it keeps meanwhile.
    elif operation["start"] and kind == "all-gather":
        arrays = arrays[len(arrays) // 2 :]  # Operands, then results.
    parts = group if kind == "reduce-scatter" else 1
    largest = max(arrays, key=size_of, default=None)
    return Collective(
        kind=kind,
        bytes=sum(map(size_of, arrays)) * parts,
        group=group,
        times=times,
        dtype=_DTYPES.get(largest["dtype"], largest["dtype"]) if largest else "",
        elements=_count_elements(arrays[0]) * parts if len(arrays) == 1 else 0,
    )


def size_of(array: re.Match[str]) -> int:
    """Return the bytes of an array, as `ARRAY` matches it."""
    bits = _BITS.match(array["dtype"])
    # A boolean takes a byte.
    return math.ceil(_count_elements(array) * (int(bits["bits"]) if bits else 8) / 8)


def _count_elements(array: re.Match[str]) -> int:
    return math.prod(int(size) for size in array["shape"].split(",") if size)


def _group(line: str) -> int:
    iota = _IOTA_GROUPS.search(line)
    if iota:
        return int(iota["size"])
    over_mesh = _MESH_GROUPS.search(line)
    if over_mesh:
        sizes = {axis["name"]: int(axis["size"]) for axis in _AXIS.finditer(over_mesh["sizes"])}
        # Part of an axis is written as its name, its size before it, and its own: 'a':(2)4.
        parts = [part.strip() for part in over_mesh["axes"].split(",")]
        return math.prod(
            int(part.rpartition(")")[2]) if ")" in part else sizes.get(part.strip("'"), 1) for part in parts
        )
    groups = _GROUPS.search(line)
    return len(groups["first"].split(",")) if groups and groups["first"] else 0
