"""What a program would take on a TPU (rehearsal layer)."""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import keras
from jax.sharding import NamedSharding

from stratax.command.rehearsal._alive import alive
from stratax.command.rehearsal._estimate import Estimate
from stratax.command.rehearsal._hlo import Collective
from stratax.command.rehearsal._table import in_bytes, in_seconds, short
from stratax.command.rehearsal._topologies import Topology
from stratax.core import regions
from stratax.core.regions import MadeProgram

# How many variables a line names.
_MOST_NAMES = 3


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes on each device while a program runs.

    Attributes:
        weights: Variables of models, and others that are neither of the following.
        slots: Variables of optimizers.
        metrics: Variables of metrics.
        batch: Arguments that are divided among the devices.
        other: Other arguments, and what layouts add to all of them.
        results: Results that take no argument's place.
        temporaries: What is computed and not kept.
        code: The program itself.
        donated: How much of the variables may be overwritten by their new values.
        reused: How much of it is.
    """

    weights: int
    slots: int
    metrics: int
    batch: int
    other: int
    results: int
    temporaries: int
    code: int
    donated: int
    reused: int

    @property
    def total(self) -> int:
        """All of them."""
        return (
            self.weights
            + self.slots
            + self.metrics
            + self.batch
            + self.other
            + self.results
            + self.temporaries
            + self.code
        )


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class HeldVariable:
    """A variable, and what a device has of it.

    Attributes:
        path: Its path.
        shape: Its shape.
        axes: The axis of the mesh that divides each dimension; None where none does.
        bytes: Bytes on each device.
        bytes_in_all: Bytes of the whole.
    """

    path: str
    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    bytes: int
    bytes_in_all: int


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a program does not compile.

    Attributes:
        kind: ``"memory"``, ``"compiler"``, or ``"batch"`` where a batch does not divide among the devices.
        message: What the compiler said.
        place: The program's line, as ``file:line``; empty if it is not known.
        remedy: What to do; empty if that is not known.
        needed_bytes: What it would need of a device's memory, where it lacks that; 0 if it is not known.
    """

    kind: str
    message: str
    place: str = ""
    remedy: str = ""
    needed_bytes: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ProgramReport:
    """One program, compiled for one slice; printed, it is what `stratax compile` says of it.

    Attributes:
        name: What the program is called.
        topology: The slice.
        compile_seconds: How long compiling took.
        failure: Why it does not compile; None if it does, and then the following are given.
        memory: Bytes on each device.
        flops: Operations of a step on each device, as the compiler counts them, as often as loops of known length run.
        bytes_accessed: Bytes that each device reads from its memory and writes to it, likewise.
        collectives: The program's collectives.
        steps: How many training steps a dispatch makes; what a loop over them does counts once.
        examples: How many examples a step takes, on all devices together; 0 if nothing is divided among them.
        estimate: How long a step takes at least.
        num_devices: On how many of the slice's devices it runs: all, or one.
        batch: The global batch that was asked for; 0 for as many examples on each device as in the run.
        mesh: The axes along which its devices lie, with their sizes; empty for a single device.
        held: The variables that it takes, and what a device has of each.
    """

    name: str
    topology: Topology
    compile_seconds: float
    failure: Failure | None = None
    memory: Memory | None = None
    flops: float = 0.0
    bytes_accessed: float = 0.0
    collectives: Sequence[Collective] = ()
    steps: int = 1
    examples: int = 0
    estimate: Estimate | None = None
    num_devices: int = 0
    batch: int = 0
    mesh: Mapping[str, int] = dataclasses.field(default_factory=dict)
    held: Sequence[HeldVariable] = ()

    @property
    def fits(self) -> bool:
        """Whether it compiles and a device's memory is enough."""
        return self.memory is not None and self.memory.total <= self.topology.memory_per_device

    @property
    def examples_per_second(self) -> float:
        """How many examples a second are computed at best; 0 if nothing is divided among the devices."""
        if self.estimate is None or not self.estimate.seconds:
            return 0.0
        return self.examples / self.estimate.seconds

    def __str__(self) -> str:
        return as_table([self])

    def as_dict(self) -> dict[str, Any]:
        """Return the report as values of JSON."""
        found = dataclasses.asdict(dataclasses.replace(self, topology=self.topology))
        found["topology"] = self.topology.name
        found["devices"] = self.topology.num_devices
        found["memory_per_device"] = self.topology.memory_per_device
        found["fits"] = self.fits
        found["examples_per_second"] = self.examples_per_second
        if self.memory is not None:
            found["memory"]["total"] = self.memory.total
        if self.estimate is not None:
            found["estimate"] |= {
                "seconds": self.estimate.seconds,
                "one_by_one": self.estimate.one_by_one,
                "bound": self.estimate.bound,
                "is_shorter_than_latencies": self.estimate.is_shorter_than_latencies,
            }
        return found


def memory_of(made: MadeProgram, stats: Any) -> Memory:
    """Divide what the compiler says of memory into what it is for.

    Args:
        made: The program, with the types of its arguments on the devices that it was compiled for.
        stats: What `compiled.memory_analysis()` gives.
    """
    sizes = dict.fromkeys(("weights", "slots", "metrics", "batch"), 0)
    kinds = _kinds_of_variables()
    donated = 0
    for number, spec, variable in regions.arguments_of(made):
        size = _bytes_on_device(spec)
        donated += size if number in made.donated else 0
        if variable is not None:
            sizes[kinds.get(id(variable), "weights")] += size
        elif regions.find_divided_dim(spec) is not None:
            sizes["batch"] += size
    known = sum(sizes.values())
    return Memory(
        **sizes,
        other=max(0, stats.argument_size_in_bytes - known),
        results=stats.output_size_in_bytes - stats.alias_size_in_bytes,
        temporaries=stats.temp_size_in_bytes,
        code=stats.generated_code_size_in_bytes,
        donated=donated,
        reused=min(donated, stats.alias_size_in_bytes),
    )


def mesh_of(made: MadeProgram) -> dict[str, int]:
    """Return the axes along which a program's devices lie, with their sizes."""
    shardings = (spec.sharding for _, spec, _ in regions.arguments_of(made))
    named = (each for each in shardings if isinstance(each, NamedSharding))
    return next((dict(each.mesh.shape) for each in named), {})


def list_held(made: MadeProgram) -> list[HeldVariable]:
    """Return the variables that a program takes, and what a device has of each."""
    return [
        HeldVariable(
            path=variable.path,
            shape=tuple(spec.shape),
            axes=_axes_of(spec),
            bytes=_bytes_on_device(spec),
            bytes_in_all=math.prod(spec.shape) * spec.dtype.itemsize,
        )
        for _, spec, variable in regions.arguments_of(made)
        if variable is not None
    ]


def _axes_of(spec: jax.ShapeDtypeStruct) -> tuple[str | None, ...]:
    given = tuple(spec.sharding.spec) if isinstance(spec.sharding, NamedSharding) else ()
    return (*given, *(None,) * (len(spec.shape) - len(given)))


def steps_and_examples(made: MadeProgram) -> tuple[int, int]:
    """Return how many steps a dispatch makes and how many examples each of them takes on all devices."""
    # Variables may be divided, too.
    found = regions.find_divided_batch(
        [spec for _, spec, variable in regions.arguments_of(made) if variable is None]
    )
    if found is None:
        return 1, 0
    spec, dim = found
    return math.prod(spec.shape[:dim]), spec.shape[dim] * spec.shape[dim + 1]


def _bytes_on_device(spec: jax.ShapeDtypeStruct) -> int:
    shape = spec.shape if spec.sharding is None else spec.sharding.shard_shape(spec.shape)
    return math.prod(shape) * spec.dtype.itemsize


def _kinds_of_variables() -> dict[int, str]:
    """Return which variables belong to optimizers and metrics, by id: a variable does not say it."""
    found: dict[int, str] = {}
    for owner in alive((keras.optimizers.Optimizer, keras.metrics.Metric, regions.KeepsSlots)):
        kind = "metrics" if isinstance(owner, keras.metrics.Metric) else "slots"
        own = owner.variables() if isinstance(owner, regions.KeepsSlots) else owner.variables
        found.update((id(variable), kind) for variable in own)
    return found


def as_table(reports: Sequence[ProgramReport], examples: float = 0) -> str:
    """Return what was found of each program, a few lines each.

    Args:
        reports: The reports.
        examples: How many examples the whole job trains on, to tell its hours; 0 if that is not known.
    """
    return "\n".join(_lines(report, examples) for report in reports)


def _lines(report: ProgramReport, examples: float) -> str:
    topology = report.topology
    used = (
        f"1 of {topology.num_devices}"
        if report.num_devices == 1 < topology.num_devices
        else topology.num_devices
    )
    title = f"{report.name} on {topology.name} ({used} devices)"
    if report.failure is not None:
        failure = report.failure
        place = f"\n  at         {failure.place}" if failure.place else ""
        remedy = f"\n  remedy     {failure.remedy}" if failure.remedy else ""
        verdict = "does not fit" if failure.kind == "memory" else "does not compile"
        return f"{title}: {verdict}\n  compiler   {failure.message}{place}{remedy}"
    lines = [f"{title}: {'fits' if report.fits else 'does not fit'}"]
    lines += [f"  {label:<10} {text}" for label, text in _rows(report, examples)]
    return "\n".join(lines)


def _rows(report: ProgramReport, examples: float) -> list[tuple[str, str]]:
    memory, estimate = report.memory, report.estimate
    rows = [("compiled", f"in {report.compile_seconds:.1f} s")]
    if memory is not None:
        parts = {
            "weights": memory.weights,
            "slots": memory.slots,
            "metrics": memory.metrics,
            "batch": memory.batch,
            "other": memory.other,
            "results": memory.results,
            "temporaries": memory.temporaries,
            "code": memory.code,
        }
        listed = ", ".join(f"{name} {in_bytes(size)}" for name, size in parts.items() if size)
        available = in_bytes(report.topology.memory_per_device)
        rows.append(("memory", f"{in_bytes(memory.total)} of {available} on each device: {listed}"))
    of = "" if report.steps == 1 else f" in a step (a dispatch makes {report.steps})"
    rows.append(
        (
            "computes",
            f"{short(report.flops)}FLOP, {in_bytes(report.bytes_accessed)} read and written{of}",
        )
    )
    rows += zip(itertools.chain(["links"], itertools.repeat("")), _collectives(report), strict=False)
    if estimate is not None:
        times = ", ".join(
            f"{name} {in_seconds(getattr(estimate, name))}"
            for name in ("compute", "memory", "links", "latency", "dispatch")
        )
        rows.append(("step", f"at least {in_seconds(estimate.seconds)}, bound by {estimate.bound} ({times})"))
        if estimate.hidden:
            rows.append(("", f"{in_seconds(estimate.hidden)} of the links while something is computed"))
        rows.append(("", f"{in_seconds(estimate.one_by_one)} if none of these overlap"))
        if estimate.is_shorter_than_latencies:
            rows.append(("", "what it computes takes less: give a dispatch more steps or a larger batch"))
    if report.examples:
        speed = report.examples_per_second
        rows.append(("examples", f"{report.examples} in a step, at most {short(speed)}/s"))
        if examples and speed:
            rows.append(("job", f"at least {examples / speed / 3600:.2f} hours"))
    return rows


def _collectives(report: ProgramReport) -> list[str]:
    """Return a line for all collectives of one kind and size."""
    groups: dict[tuple[str, int, str, int | None], list[Collective]] = {}
    for each in report.collectives:
        groups.setdefault((each.kind, each.bytes, each.dtype, each.times), []).append(each)
    return [_describe_group(group) for group in groups.values()] or ["no collectives"]


def _describe_group(group: Sequence[Collective]) -> str:
    one = group[0]
    times = "" if one.times == 1 else " in a loop" if one.times is None else f" {one.times} times"
    beside = sum(each.overlaps for each in group)
    how = f", {beside} beside other work" if beside else ""
    names = Counter(each.variable for each in group if each.variable)
    listed = [name if count == 1 else f"{name} ({count})" for name, count in names.items()]
    shown = ", ".join(listed[:_MOST_NAMES]) + (", ..." if len(listed) > _MOST_NAMES else "")
    text = f"{len(group)} {one.kind} of {in_bytes(one.bytes)} in {one.dtype}{times}{how}"
    return f"{text}: {shown}" if shown else text
