"""Write the tables of docs/compatibility.md: `python -m tools.compatibility` (or `make names`).

They are what stands in `stratax/tf/_missing.txt`, by topic, and the names of the stubs of `stratax.tf`.
"""

import itertools
from pathlib import Path

from stratax import _doors
from stratax.tf import _missing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compatibility.md"
_HEADING = "## What to write instead\n"
_NAMES = "## Which names there are\n"
_INTRODUCTION = """\
What of TensorFlow is not in Stratax, and what takes its place. A name stands for everything below it. Using one raises
an error that says the same, and `stratax check program.py` finds them all without running the program."""


def table() -> str:
    """Return the table, with one row for each module of `stratax.tf`, as Markdown."""
    rows = [
        f"| `{door.removeprefix('stratax.')}` | {', '.join(f'`{name}`' for name in sorted(names, key=str.lower))} |"
        for door, names in _doors.read_tables("stratax.tf").items()
    ]
    return "\n".join(["| module | what is in it |", "| --- | --- |", *rows])


def missing() -> str:
    """Return the tables of what is not there, one for each topic, as Markdown."""
    topics = itertools.groupby(_missing.read().values(), key=lambda row: row.topic)
    return "\n\n".join(f"### {topic}\n\n{_rows(list(rows))}" for topic, rows in topics)


def _rows(rows: list[_missing.Missing]) -> str:
    lines = [f"| `{row.name}` | {row.instead[0].upper()}{row.instead[1:]} | {row.reason} |" for row in rows]
    return "\n".join(["| not there | instead | why |", "| --- | --- | --- |", *lines])


def page(text: str) -> str:
    """Return the page with the tables that it should have; everything in front of them stays."""
    before = text.partition(_HEADING)[0].partition(_NAMES)[0]
    return f"{before}{_HEADING}\n{_INTRODUCTION}\n\n{missing()}\n\n{_NAMES}\n{table()}\n"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
