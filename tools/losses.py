"""Compare the losses of programs' first steps with TensorFlow's: `python -m tools.losses TREES --tensorflow PYTHON`.

TREES and ROWS.toml are those of `tools.programs`. Each program is run twice by `tools/steady.py`, which makes it
compute the same each time and notes its losses: by `stratax run`, and by the first PYTHON whose TensorFlow runs it.
What is found is kept in `tools/losses.json`, of which the table of `tools.programs` tells.
"""

import argparse
import dataclasses
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools import steady
from tools.program_runs import ROOT, WELL, Ended, Program, Runs, read_programs

ROWS = ROOT / "tools" / "programs.toml"
KEPT = ROOT / "tools" / "losses.json"
# Where a loss was seen: what is compared is the first of these that both have.
_PLACES = ("estimator", "fit", "batch", "tape")
_STEPS = 10
_TIMEOUT = 180.0
# Of the largest loss: smaller ones are what is left of a difference of larger numbers.
_LEAST = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What is known of a program's losses.

    Attributes:
        steps: How many were compared.
        difference: The largest relative one.
        version: TensorFlow's.
        why: Why none were compared.
    """

    steps: int = 0
    difference: float = 0.0
    version: str = ""
    why: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Noted:
    """What a run has noted: losses by place and step, and the version of what ran it."""

    losses: Mapping[str, Mapping[int, float]]
    version: str
    ended: Ended


def read_notes(file: Path) -> tuple[dict[str, dict[int, float]], str]:
    """Return losses by place and step, and the version, as `tools/steady.py` has noted them.

    Args:
        file: The notes; nothing is noted if there is no such file.
    """
    losses: dict[str, dict[int, float]] = {place: {} for place in _PLACES}
    version = ""
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        words = line.split()
        if words[0] == "#":
            version = words[-1]
        elif len(words) == 3:
            seen = losses[words[0]]
            seen.setdefault(len(seen) + 1 if words[1] == "-" else int(words[1]), float(words[2]))
    return losses, version


def compare(ours: Noted, theirs: Noted, steps: int) -> Compared:
    """Compare what two runs have noted.

    Args:
        ours: The run by `stratax run`.
        theirs: TensorFlow's.
        steps: The first ones of so many are compared.
    """
    for place in _PLACES:
        both = sorted(ours.losses[place].keys() & theirs.losses[place].keys())[:steps]
        if not both:
            continue
        pairs = [(ours.losses[place][step], theirs.losses[place][step]) for step in both]
        least = _LEAST * max(abs(loss) for _, loss in pairs) or 1.0
        difference = max(abs(own - loss) / max(abs(loss), least) for own, loss in pairs)
        return Compared(steps=len(both), difference=float(f"{difference:.1e}"), version=theirs.version)
    if any(theirs.losses.values()):
        return Compared(why=_said(ours.ended), version=theirs.version)
    return Compared(why="computes no loss" if theirs.ended.ended == WELL else _said(theirs.ended))


def _said(ended: Ended) -> str:
    return ended.why or ended.ended


class Sides:
    """Runs programs in both.

    Args:
        runs: What prepares runs.
        pythons: The interpreters with a TensorFlow.
        steps: How many losses are enough.
        timeout: After how many seconds a run is ended.
        notes: A folder for what is noted.
    """

    def __init__(self, runs: Runs, pythons: Sequence[Path], steps: int, timeout: float, notes: Path) -> None:
        self._runs = runs
        self._pythons = pythons
        self._steps = steps
        self._timeout = timeout
        self._notes = notes

    def compare(self, program: Program) -> Compared:
        """Run a program in both and compare its losses."""
        if program.own:
            return Compared(why=program.own)
        # TensorFlow simulates no devices.
        program = dataclasses.replace(program, simulate="")
        theirs = []
        for python in self._pythons:
            theirs.append(self._run(program, python, self._steps))
            if any(theirs[-1].losses.values()) or theirs[-1].ended.ended == WELL:
                break
        if not any(theirs[-1].losses.values()):
            said = dict.fromkeys(f"TensorFlow {each.version}: {_said(each.ended)}" for each in theirs)
            is_well = theirs[-1].ended.ended == WELL
            return Compared(why="computes no loss" if is_well else "; ".join(said))
        # More than TensorFlow's can't be compared; what a program does behind them takes its time.
        most = max(map(len, theirs[-1].losses.values()))
        return compare(self._run(program, None, min(most, self._steps)), theirs[-1], self._steps)

    def _run(self, program: Program, python: Path | None, steps: int) -> Noted:
        side = "stratax" if python is None else python.parent.parent.name
        key = re.sub(r"[^\w.-]+", "_", program.key).strip("_")
        notes = self._notes / f"{key}.{side}"
        notes.unlink(missing_ok=True)
        helper = str(ROOT / "tools" / "steady.py")
        with self._runs.prepared(program) as run:
            own = run.launcher if python is None else (str(python),)
            environment = {**run.environment, steady.NOTES: str(notes), "PYTHONHASHSEED": "0"}
            if python is not None:
                # What is behind the root are packages of this interpreter.
                paths, _, _ = environment["PYTHONPATH"].partition(f"{os.pathsep}{ROOT}")
                environment["PYTHONPATH"] = paths
            run = dataclasses.replace(run, launcher=(*own, helper), environment=environment)
            ended = run.run_in_front(program, timeout=self._timeout)
            if ended.ended == WELL:
                # The losses of what runs in front of it are its own.
                notes.unlink(missing_ok=True)
                enough = functools.partial(_is_enough, notes, steps)
                ended = dataclasses.replace(run, is_enough=enough).run(program, timeout=self._timeout)
            shutil.copyfile(run.log, notes.with_name(f"{notes.name}.log"))
        losses, version = read_notes(notes)
        return Noted(losses, version, ended)


def _is_enough(notes: Path, steps: int) -> bool:
    losses, _ = read_notes(notes)
    return any(len(seen) >= steps for seen in losses.values())


def read_compared(file: Path = KEPT) -> dict[str, Compared]:
    """Return what is known of programs' losses, by the programs' keys."""
    if not file.exists():
        return {}
    return {key: Compared(**row) for key, row in json.loads(file.read_text("utf-8")).items()}


def write_compared(file: Path, compared: Mapping[str, Compared]) -> None:
    """Write what is known of programs' losses."""
    rows = {}
    for key in sorted(compared):
        row = dataclasses.asdict(compared[key])
        rows[key] = {
            name: value for name, value in row.items() if value or (name == "difference" and row["steps"])
        }
    lines = ",\n".join(f" {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    file.write_text(f"{{\n{lines}\n}}\n", "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the programs' losses."""
    parser = argparse.ArgumentParser(prog="python -m tools.losses", description=__doc__)
    parser.add_argument("trees", type=Path, metavar="TREES")
    parser.add_argument("rows", type=Path, nargs="?", default=ROWS, metavar="ROWS.toml")
    parser.add_argument("--tensorflow", type=Path, action="append", required=True, metavar="PYTHON")
    parser.add_argument("--only", default="", metavar="REGEX", help="run rows alone whose key has this")
    parser.add_argument("--new", action="store_true", help="run rows alone that F does not have")
    parser.add_argument("--steps", type=int, default=_STEPS, metavar="N", help="compare so many losses")
    parser.add_argument("--timeout", type=float, default=_TIMEOUT, metavar="S", help="seconds for each run")
    parser.add_argument("--json", type=Path, default=KEPT, metavar="F", help="what is known is kept here")
    parser.add_argument("--logs", type=Path, metavar="D", help="keep what programs print and note here")
    options = parser.parse_args(arguments)
    known = read_compared(options.json)
    wanted = [row for row in read_programs(options.rows) if re.search(options.only, row.key)]
    if options.new:
        wanted = [row for row in wanted if row.key not in known]
    with tempfile.TemporaryDirectory(prefix="losses-", ignore_cleanup_errors=True) as scratch:
        notes = options.logs or Path(scratch) / "notes"
        notes.mkdir(parents=True, exist_ok=True)
        runs = Runs(options.trees.resolve(), Path(scratch).resolve(), options.timeout)
        sides = Sides(runs, options.tensorflow, options.steps, options.timeout, notes.resolve())
        for number, program in enumerate(wanted, start=1):
            print(f"[{number}/{len(wanted)}] {program.key} ...", end=" ", flush=True)
            known[program.key] = found = sides.compare(program)
            print(
                found.why or f"{found.difference:.1e} over {found.steps} steps, {found.version}", flush=True
            )
            write_compared(options.json, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
