"""One case in a process of its own: `python -m benchmarks._worker NAME COUNTS QUICK PATH`."""

import dataclasses
import json
import pathlib
import sys

import stratax  # noqa: F401 - before JAX and Keras, as the README has it: it sets the processor up
from benchmarks import _cases, _measure


def main(name: str, counts: str, quick: str, path: str) -> None:
    """Measures the case and writes its figure to `path` as JSON."""
    cases = _cases.all_cases([int(count) for count in counts.split(",")])
    (case,) = [case for case in cases if case.name == name]
    figure = case.measure(_measure.Plan.of(quick=quick == "quick"))
    pathlib.Path(path).write_text(json.dumps(dataclasses.asdict(figure)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
