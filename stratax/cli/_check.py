"""`stratax check`: what of a TensorFlow program is not there or different, without running it (cli layer)."""

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stratax.tf.migration import Finding

# What a program runs with.
_HARMLESS = ("different", "uncalled")


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@click.option(
    "--arguments",
    metavar="TEXT",
    help="Read the programs as for this command line, as in --arguments='--mode=train --lr 0.1': what it leaves out "
    "is not run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def check(paths: tuple[str, ...], arguments: str | None, as_json: bool) -> int:
    """List what programs for TensorFlow use that Stratax lacks or does differently, with what to write instead.

    PATH is a Python file, a notebook or a folder of them. They are read and not run, a file together with the modules
    beside it that it imports. Of what is different only what a program may notice is listed; docs/compatibility.md has
    it all.

    The exit code is 0 if all that the programs use is there, also where something is different, or where something is
    not there in a function that nothing calls; 1 if something is not there, or a file can't be read as a program; 2 if
    there is no such file.
    """
    from stratax.tf.migration import check as find

    findings = find(paths, arguments)
    works = all(finding.kind in _HARMLESS for finding in findings)
    if as_json:
        found = [dataclasses.asdict(finding) for finding in findings]
        click.echo(json.dumps({"works": works, "findings": found}, indent=2))
    else:
        _tell("Not there", [finding for finding in findings if finding.kind not in _HARMLESS])
        uncalled = [finding for finding in findings if finding.kind == "uncalled"]
        _tell("Not there, in functions that nothing calls", uncalled)
        _tell("Different", [finding for finding in findings if finding.kind == "different"])
        click.echo(_verdict(findings))
    return 0 if works else 1


def _tell(title: str, findings: "Sequence[Finding]") -> None:
    """Print what was found, what is said of several lines of a file once."""
    if not findings:
        return
    click.echo(f"{title}:")
    said: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        said.setdefault((finding.file, finding.message), []).append(finding)
    for (_, message), (first, *others) in said.items():
        lines = dict.fromkeys(finding.place().removeprefix(f"{finding.file}:") for finding in others)
        also = f" (Also in {', '.join(lines)}.)" if lines else ""
        click.echo(f"  {first.place()}: {first.name}\n      {message}{also}")
    click.echo()


def _verdict(findings: "Sequence[Finding]") -> str:
    missing = [finding for finding in findings if finding.kind not in _HARMLESS]
    num_different = sum(finding.kind == "different" for finding in findings)
    if missing:
        return f"{_lines(len(missing), 'needs', 'need')} another way to write it, in {_files(missing)}."
    if num_different:
        return (
            f"All that is used is there, and {_lines(num_different, 'does', 'do')} something different. Run it with "
            "`stratax run`."
        )
    return "All that is used is there, and nothing of it is known to differ. Run it with `stratax run`."


def _lines(number: int, one: str, several: str) -> str:
    return f"1 line {one}" if number == 1 else f"{number} lines {several}"


def _files(findings: "Sequence[Finding]") -> str:
    number = len({finding.file for finding in findings})
    return "1 file" if number == 1 else f"{number} files"
