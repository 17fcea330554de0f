"""`stratax check`: what of a TensorFlow program is not there, without running it (cli layer)."""

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stratax.tf.migration import Finding


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def check(paths: tuple[str, ...], as_json: bool) -> int:
    r"""List what programs for TensorFlow use that Stratax does not have, with what to write instead.

    PATH is a Python file, a notebook or a folder of them. They are read and not run.

    \b
    The exit code is
      0  if all that they use is there,
      1  if something is not, or a file can't be read as a program,
      2  if there is no such file.
    """
    from stratax.tf.migration import check as find

    findings = find(paths)
    if as_json:
        found = [dataclasses.asdict(finding) for finding in findings]
        click.echo(json.dumps({"works": not findings, "findings": found}, indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.place()}: {finding.message}")
        click.echo(_verdict(findings))
    return 1 if findings else 0


def _verdict(findings: "Sequence[Finding]") -> str:
    if not findings:
        return "All that is used is there: run it with `stratax run`."
    num_files = len({finding.file for finding in findings})
    lines = "1 line needs" if len(findings) == 1 else f"{len(findings)} lines need"
    return f"{lines} another way to write it, in {num_files} file{'s' if num_files > 1 else ''}."
