"""Reports as text (rehearsal layer)."""

import math
from collections import Counter
from collections.abc import Sequence

from stratax.command.rehearsal._report import ProgramReport

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_COUNTS = ("", "K", "M", "G", "T", "P", "E")


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
    of = "" if report.steps == 1 else f" (a dispatch makes {report.steps} steps; what loops do counts once)"
    rows.append(
        (
            "computes",
            f"{short(report.flops)}FLOP, {in_bytes(report.bytes_accessed)} read and written{of}",
        )
    )
    rows.append(("links", _collectives(report)))
    if estimate is not None:
        times = ", ".join(
            f"{name} {in_seconds(getattr(estimate, name))}"
            for name in ("compute", "memory", "links", "latency", "dispatch")
        )
        rows.append(("step", f"at least {in_seconds(estimate.seconds)}, bound by {estimate.bound} ({times})"))
        rows.append(("", f"{in_seconds(estimate.one_by_one)} if none of these overlap"))
        if estimate.is_shorter_than_latencies:
            rows.append(("", "what it computes takes less: give a dispatch more steps or a larger batch"))
    if report.examples:
        speed = report.examples_per_second
        rows.append(("examples", f"{report.examples} in a step, at most {short(speed)}/s"))
        if examples and speed:
            rows.append(("job", f"at least {examples / speed / 3600:.2f} hours"))
    return rows


def _collectives(report: ProgramReport) -> str:
    counts = Counter(
        (
            each.kind,
            each.bytes,
            "" if each.times == 1 else " in a loop" if each.times is None else f" {each.times} times",
        )
        for each in report.collectives
    )
    if not counts:
        return "no collectives"
    return ", ".join(
        f"{count} {kind} of {in_bytes(size)}{how}" for (kind, size, how), count in counts.items()
    )


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
