"""Renders results as Markdown: `python -m benchmarks.render benchmarks/results/cpu.json`."""

import json
import pathlib

import click

from benchmarks import _report


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=pathlib.Path))
def main(paths: tuple[pathlib.Path, ...]) -> None:
    """Prints the tables of results that `python -m benchmarks` has written."""
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        click.echo(_report.markdown(found["results"], found["host"]))


if __name__ == "__main__":
    main()
