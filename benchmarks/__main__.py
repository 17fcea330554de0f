"""`python -m benchmarks`: every figure, as a table and as JSON."""

import contextlib
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from benchmarks import _cases, _host, _report

_LIMIT_SECONDS = 900
_RESULTS = pathlib.Path(__file__).parent / "results"
_SIMULATED_COUNTS = (1, 8)
_LOG_WIDTH = 170


@click.command()
@click.option("--only", metavar="PATTERN", help="Only cases whose names contain this, or match it with *.")
@click.option(
    "--quick", is_flag=True, help="Short turns: shows that everything works; the figures are rough."
)
@click.option(
    "--json",
    "path",
    type=click.Path(dir_okay=False, path_type=pathlib.Path),
    help="Where to write the results.  [default: benchmarks/results/<kind of machine>.json, if all cases run]",
)
@click.option("--list", "only_list", is_flag=True, help="Lists the cases and ends.")
def main(only: str | None, quick: bool, path: pathlib.Path | None, only_list: bool) -> None:
    """Measures Stratax against the same in JAX by hand and against Keras' own.

    On a machine with accelerators it uses them; on others 1 and 8 devices are simulated on the processor.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=_LOG_WIDTH)
    host = _host.describe()
    counts = _SIMULATED_COUNTS if host["platform"] == "cpu" else tuple(sorted({1, host["count"]}))
    cases = _cases.selected(_cases.all_cases(counts), only)
    if not cases:
        raise click.BadParameter(f"No case has a name like that. Received: --only {only!r}. See --list.")
    if only_list:
        for case in cases:
            console.print(f"{case.name:40} {case.what}", highlight=False)
        return
    results = _measure_all(cases, counts, host, quick, console)
    console.print(_report.table(results))
    path = path or (None if only else _RESULTS / f"{_host.name(host)}.json")
    if path is not None:
        _write(path, {"date": _today(), "quick": quick, "host": host, "results": results})
        console.print(f"Written to {path}")
    if any(_report.verdict(result) == "failed" for result in results):
        sys.exit(1)


def _write(path: pathlib.Path, found: dict[str, Any]) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    partial.replace(path)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _measure_all(
    cases: list[_cases.Case], counts: tuple[int, ...], host: dict[str, Any], quick: bool, console: Console
) -> list[_report.Result]:
    results = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            progress.update(task, description=case.name)
            result = _measure_one(case, counts, host, quick)
            results.append(result)
            progress.advance(task)
            value = "" if result.get("error") else f"{result['figure']['value']:.3f} {result['unit']}"
            progress.console.print(f"{case.name:40} {value} {_report.verdict(result)}", highlight=False)
    return results


def _measure_one(
    case: _cases.Case, counts: tuple[int, ...], host: dict[str, Any], quick: bool
) -> _report.Result:
    result: _report.Result = {
        "name": case.name,
        "what": case.what,
        "devices": case.devices,
        "unit": case.unit,
        "target": None if case.target is None else str(case.target),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "figure.json"
        arguments = [case.name, ",".join(map(str, counts)), "quick" if quick else "whole", str(path)]
        error = _run(["-m", "benchmarks._worker", *arguments], _environment(case.devices, host))
        if error is not None:
            return result | {"figure": None, "met": None, "error": error}
        figure = json.loads(path.read_text(encoding="utf-8"))
    met = None if case.target is None else case.target.is_met(figure["value"])
    return result | {"figure": figure, "met": met, "error": None}


def _environment(devices: int, host: dict[str, Any]) -> dict[str, str]:
    """What a process needs to find so many devices."""
    environment = os.environ | {"KERAS_BACKEND": "jax"}
    if host["platform"] == "cpu":
        environment["STRATAX_SIMULATE"] = f"cpu:{devices}"
    elif devices < host["count"]:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(devices)))
    return environment


def _run(arguments: list[str], environment: dict[str, str]) -> str | None:
    """Runs a Python process to its end; what it said if it failed."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        cwd=pathlib.Path(__file__).parent.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        said = f"It took longer than {_LIMIT_SECONDS} seconds."
    finally:
        # Processes that it started in turn go with it, also when this one is interrupted.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return None if process.returncode == 0 else said.strip() or f"It ended with code {process.returncode}."


if __name__ == "__main__":
    main()
