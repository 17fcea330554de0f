"""`stratax devices`: what this process can compute on, real or simulated (cli layer)."""

import dataclasses
import json
import os
import platform
import sys
from typing import TYPE_CHECKING

import click

from stratax._version import __version__
from stratax.cli._options import apply_simulation, simulate_option

if TYPE_CHECKING:
    from stratax.cluster import SimulatedDevices


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class DeviceReport:
    """One device.

    Attributes:
        name: TensorFlow's name for it, such as ``/job:worker/replica:0/task:0/device:TPU:3``.
        kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``.
        model: The hardware's own name, such as ``TPU v4``; of a simulated device, that of what computes for it.
        memory_bytes: Memory of the device's own; None where it shares the host's.
        memory_in_use_bytes: How much of it JAX has taken; None likewise.
    """

    name: str
    kind: str
    model: str
    memory_bytes: int | None
    memory_in_use_bytes: int | None


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class HostReport:
    """The machine this process runs on, and the versions it runs with.

    Attributes:
        versions: Version of Stratax, JAX, Keras and Python by name.
        num_cores: Processor cores that this process may use.
        memory_bytes: Main memory; None where the system does not tell.
        simulated: What the devices are presented as (``"TPU"``, ...); None if they are real.
        devices: What a strategy can compute on.
    """

    versions: dict[str, str]
    num_cores: int
    memory_bytes: int | None
    simulated: str | None
    devices: list[DeviceReport]


@click.command()
@simulate_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def devices(simulate: "SimulatedDevices | None", as_json: bool) -> None:
    """Show the devices that are here, with versions and memory."""
    apply_simulation(simulate)
    report = collect_report()
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(report), indent=2))
    else:
        _print_report(report)


def collect_report() -> HostReport:
    """Return everything that `stratax devices` shows; start JAX if it has not started."""
    import jax
    import keras

    from stratax.cluster import simulated_kind
    from stratax.data.plan import num_cores

    versions = {
        "stratax": __version__,
        "jax": jax.__version__,
        "keras": keras.__version__,
        "python": platform.python_version(),
    }
    return HostReport(
        versions=versions,
        num_cores=num_cores(),
        memory_bytes=_host_memory(),
        simulated=simulated_kind(),
        devices=_collect_devices(),
    )


def _collect_devices() -> list[DeviceReport]:
    from stratax.cluster import list_logical_devices, resolve_device

    reports = []
    for logical in list_logical_devices():
        device = resolve_device(logical)
        # CPUs, and so simulated devices, have no memory of their own to report.
        memory = device.memory_stats() or {}
        reports.append(
            DeviceReport(
                name=logical.name,
                kind=logical.device_type,
                model=device.device_kind,
                memory_bytes=memory.get("bytes_limit"),
                memory_in_use_bytes=memory.get("bytes_in_use"),
            )
        )
    return reports


def _host_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows, not on every Unix
        return None


def _print_report(report: HostReport) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    what = f"simulated {report.simulated}s" if report.simulated else "real devices"
    click.echo(versions)
    click.echo(
        f"{what} on a host with {report.num_cores} cores and {_gibibytes(report.memory_bytes)} of memory"
    )
    rows = [("device", "kind", "hardware", "memory", "in use"), *map(_row, report.devices)]
    # A terminal gets a table that fits it, all else a line for each device.
    (_print_table if sys.stdout.isatty() else _print_lines)(rows)


def _row(device: DeviceReport) -> tuple[str, ...]:
    own = device.memory_bytes is not None
    memory = (
        (_gibibytes(device.memory_bytes), _gibibytes(device.memory_in_use_bytes))
        if own
        else ("the host's", "")
    )
    return (device.name, device.kind, device.model, *memory)


def _print_table(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    heading, *devices = rows
    table = Table(show_edge=False)
    for name in heading:
        table.add_column(name, no_wrap=name == "device")
    for device in devices:
        table.add_row(*device)
    Console().print(table)


def _print_lines(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _gibibytes(num_bytes: int | None) -> str:
    return "an unknown amount" if num_bytes is None else f"{num_bytes / 2**30:.1f} GiB"
