"""`stratax check`: what of a TensorFlow program is not there, without running it (cli layer)."""

import dataclasses
import json
import pathlib

import click


@click.command()
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=pathlib.Path), metavar="PATH..."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def check(paths: tuple[pathlib.Path, ...], as_json: bool) -> int:
    """List what programs for TensorFlow use that Stratax does not have, with what to write instead.

    PATH is a Python file, a notebook or a folder of them. They are read and not run. The exit code is 0 if nothing was
    found and 1 otherwise.
    """
    from stratax.tf.migration import check as find

    findings = find(paths)
    if as_json:
        found = [dataclasses.asdict(finding) for finding in findings]
        click.echo(json.dumps({"works": not findings, "findings": found}, indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.place()}: {finding.message}")
        click.echo(_verdict(len(findings), len({finding.file for finding in findings})))
    return 1 if findings else 0


def _verdict(num_findings: int, num_files: int) -> str:
    if num_findings == 0:
        return "Nothing was found that is not there: run it with `stratax run`."
    places = "1 line needs" if num_findings == 1 else f"{num_findings} lines need"
    return f"{places} another way to write it, in {num_files} file{'s' if num_files > 1 else ''}."
