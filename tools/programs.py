"""Run programs of public repositories, unchanged: `python -m tools.programs TREES [ROWS.toml]`.

TREES is a folder with trees of repositories; ROWS.toml lists their programs (`tools/programs.toml`), with the fields
of `tools.program_runs.Program`. Each is run by `stratax run` on small data that is made for it, and read by `stratax
check`. The table says how each ended, and in how many rows `check` had said so.
"""

import argparse
import collections
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tools.losses import Compared, read_compared
from tools.program_runs import (
    COUNTED,
    KINDS,
    LATE,
    OWN,
    ROOT,
    SKIPPED,
    STOPPED,
    WELL,
    Outcome,
    Program,
    Runs,
    read_outcomes,
    read_programs,
    write_outcomes,
)

ROWS = ROOT / "tools" / "programs.toml"
BEGIN, END = "<!-- programs -->", "<!-- end of programs -->"
_TIMEOUT = 180.0
_MOST_NAMES = 3
# Sums in another order make as much, after some steps.
_CLOSE = 1e-4


def counts(outcomes: Iterable[Outcome]) -> str:
    """Return how many programs of each kind ended how, as a table of Markdown."""
    by_kind: dict[str, collections.Counter[str]] = {kind: collections.Counter() for kind in KINDS}
    agreeing: collections.Counter[str] = collections.Counter()
    asked: collections.Counter[str] = collections.Counter()
    for outcome in outcomes:
        by_kind[outcome.kind][outcome.ended] += 1
        if outcome.agrees is not None:
            asked[outcome.kind] += 1
            agreeing[outcome.kind] += outcome.agrees
    lines = [
        "| kind | programs | end well | stop | time is up | `check` had said so | of their own fault | skipped |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    rows = [(kind, by_kind[kind], agreeing[kind], asked[kind]) for kind in KINDS if by_kind[kind]]
    total = sum(by_kind.values(), collections.Counter())
    for kind, ends, agree, of in [*rows, ("all", total, agreeing.total(), asked.total())]:
        counted = sum(ends[end] for end in COUNTED)
        cells = [counted, ends[WELL], ends[STOPPED], ends[LATE], f"{agree} of {of}", ends[OWN], ends[SKIPPED]]
        lines.append(f"| {kind} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def table(outcomes: Iterable[Outcome], losses: Mapping[str, Compared]) -> str:
    """Return the programs with how each ended, by repository, as a table of Markdown.

    Args:
        outcomes: How they ended.
        losses: By program, how its losses differ from TensorFlow's.
    """
    lines = [
        "| program | kind | how it ends | seconds | what `check` says | losses |",
        "| --- | --- | --- | ---: | --- | --- |",
    ]
    repository = ""
    for outcome in outcomes:
        if outcome.repository != repository:
            repository = outcome.repository
            lines.append(f"| **[{repository}](https://github.com/{repository})** | | | | | |")
        seconds = f"{outcome.seconds:.0f}" if outcome.ended in COUNTED else ""
        cells = [f"`{outcome.key}`", outcome.kind, _ended(outcome), seconds, _said(outcome)]
        cells.append(_losses(losses.get(outcome.key)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _ended(outcome: Outcome) -> str:
    return f"{outcome.ended}: {_escape(outcome.why)}" if outcome.why else outcome.ended


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


def _said(outcome: Outcome) -> str:
    if outcome.is_there is None:
        return ""
    if outcome.is_there:
        return "all is there"
    names = ", ".join(f"`{name}`" for name in outcome.missing[:_MOST_NAMES])
    more = len(outcome.missing) - _MOST_NAMES
    said = f"not there: {names}" + (f" and {more} more" if more > 0 else "")
    return said.replace("|", "\\|")


def _losses(compared: Compared | None) -> str:
    if compared is None:
        return ""
    return f"{compared.difference:.0e} in {compared.steps}" if compared.steps else _escape(compared.why)


def count_losses(losses: Mapping[str, Compared]) -> str:
    """Return a sentence about how many programs' losses are TensorFlow's."""
    found = [each.difference for each in losses.values() if each.steps]
    close = sum(difference <= _CLOSE for difference in found)
    return (
        f"The losses of {len(found)} programs were compared with TensorFlow's; of {close} none of the first steps' "
        f"differs by more than {_CLOSE:.0e} of it."
    )


def page(text: str, outcomes: Sequence[Outcome], losses: Mapping[str, Compared]) -> str:
    """Return a page with the tables between its two markers.

    Args:
        text: The page.
        outcomes: How the programs ended.
        losses: By program, how its losses differ from TensorFlow's.

    Raises:
        ValueError: If the page has no such markers.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"The page has to have the lines {BEGIN} and {END}, which the table stands between.")
    parts = [
        f"{before}{BEGIN}",
        counts(outcomes),
        count_losses(losses),
        table(outcomes, losses),
        f"{END}{after}",
    ]
    return "\n\n".join(parts)


def run_all(runs: Runs, programs: Sequence[Program], known: dict[str, Outcome], json: Path | None) -> bool:
    """Run programs, say how each ended, and return whether nobody interrupted.

    Args:
        runs: What runs them.
        programs: The programs.
        known: Gets their outcomes.
        json: A file that outcomes are written to as soon as they are known.
    """
    for number, program in enumerate(programs, start=1):
        print(f"[{number}/{len(programs)}] {program.key} ...", end=" ", flush=True)
        try:
            outcome = runs.run(program)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            return False
        known[program.key] = outcome
        agrees = {True: "as check says", False: "not as check says", None: ""}[outcome.agrees]
        said = [f"{outcome.ended}, {outcome.seconds:.0f} s", agrees, outcome.why, ", ".join(outcome.missing)]
        print("; ".join(filter(None, said)), flush=True)
        if json is not None:
            write_outcomes(json, known)
    return True


def _ordered(programs: Sequence[Program], known: Mapping[str, Outcome]) -> list[Outcome]:
    return [known[program.key] for program in programs if program.key in known]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programs; the exit code is 0 unless somebody interrupts."""
    parser = argparse.ArgumentParser(prog="python -m tools.programs", description=__doc__)
    parser.add_argument("trees", type=Path, metavar="TREES")
    parser.add_argument("rows", type=Path, nargs="?", default=ROWS, metavar="ROWS.toml")
    parser.add_argument("--only", metavar="REGEX", help="run rows alone whose tree, file and name have this")
    parser.add_argument("--new", action="store_true", help="run rows alone that F of --json does not have")
    parser.add_argument(
        "--timeout", type=float, default=_TIMEOUT, metavar="S", help="seconds for each program"
    )
    parser.add_argument("--json", type=Path, metavar="F", help="keep the outcomes here, with those it has")
    parser.add_argument("--logs", type=Path, metavar="D", help="keep what programs print in this folder")
    parser.add_argument("--write", type=Path, metavar="PAGE", help=f"put the table between {BEGIN} and {END}")
    options = parser.parse_args(arguments)
    if not options.trees.is_dir():
        parser.error(f"TREES has to be a folder of trees. Received: {options.trees}")
    try:
        programs = read_programs(options.rows)
        only = re.compile(options.only or "")
    except (OSError, ValueError, re.error) as error:
        parser.error(str(error))
    known = read_outcomes(options.json) if options.json else {}
    wanted = [program for program in programs if only.search(program.key)]
    if options.new:
        wanted = [program for program in wanted if program.key not in known]
    with tempfile.TemporaryDirectory(prefix="programs-", ignore_cleanup_errors=True) as scratch:
        runs = Runs(options.trees.resolve(), Path(scratch).resolve(), options.timeout, options.logs)
        is_whole = run_all(runs, wanted, known, options.json)
    outcomes = _ordered(programs, known)
    losses = read_compared()
    print(f"\n{table(outcomes, losses)}\n\n{counts(outcomes)}")
    if options.write:
        options.write.write_text(page(options.write.read_text("utf-8"), outcomes, losses), "utf-8")
    return 0 if is_whole else 130


if __name__ == "__main__":
    sys.exit(main())
