"""Write the tables of docs/compatibility.md: `python -m tools.compatibility` (or `make names`).

They are what stands in `stratax/tf/_different.txt` and `stratax/tf/_missing.txt`, by topic, and the names of the stubs
of `stratax.tf`. What `tools.programs` writes behind them stays.
"""

import itertools
import textwrap
from pathlib import Path

from stratax.base import doors
from stratax.tf import _different, _missing

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compatibility.md"
_DIFFERENT = "## What is different\n"
_WIDTH = 125
_HEADING = "## What to write instead\n"
_SAID = """\
By topic. `stratax check program.py` lists the lines of a program that use what may matter there, such as an argument
without an effect. The TensorFlow of `tf.estimator` is 2.15, the last one that has it; elsewhere it is 2.21."""
_NAMES = "## Which names there are\n"
_PROGRAMS = "## Programs that were run\n"
_INTRODUCTION = """\
What of TensorFlow is not in Stratax, and what takes its place. A name stands for everything below it. Using one raises
an error that says the same, and `stratax check program.py` finds them all without running the program."""


def table() -> str:
    """Return the table, with one row for each module of `stratax.tf`, as Markdown."""
    rows = [
        f"| `{door.removeprefix('stratax.')}` | {', '.join(f'`{name}`' for name in sorted(names, key=str.lower))} |"
        for door, names in doors.read_tables("stratax.tf").items()
    ]
    return "\n".join(["| module | what is in it |", "| --- | --- |", *rows])


def missing() -> str:
    """Return the tables of what is not there, one for each topic, as Markdown."""
    topics = itertools.groupby(_missing.read().values(), key=lambda row: row.topic)
    return "\n\n".join(f"### {topic}\n\n{_rows(list(rows))}" for topic, rows in topics)


def different() -> str:
    """Return what is different, one section for each topic, as Markdown."""
    topics = itertools.groupby(_different.read(), key=lambda row: row.topic)
    return "\n\n".join(f"### {topic}\n\n{_parts(list(rows))}" for topic, rows in topics)


def _parts(rows: list[_different.Different]) -> str:
    parts = itertools.groupby(rows, key=lambda row: (row.part, len(row.cells)))
    texts = []
    for (part, num_cells), same in parts:
        texts += [f"#### {part}"] if part and f"#### {part}" not in texts else []
        texts.append(_points(list(same)) if num_cells == 1 else _sides(list(same)))
    return "\n\n".join(texts)


def _points(rows: list[_different.Different]) -> str:
    return "\n".join(
        textwrap.fill(
            f"- {row.cells[0]}",
            _WIDTH,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for row in rows
    )


def _sides(rows: list[_different.Different]) -> str:
    lines = [f"| {' | '.join(row.cells)} |" for row in rows]
    return "\n".join(["| what | TensorFlow | here |", "| --- | --- | --- |", *lines])


def _rows(rows: list[_missing.Missing]) -> str:
    lines = [f"| `{row.name}` | {row.instead[0].upper()}{row.instead[1:]} | {row.reason} |" for row in rows]
    return "\n".join(["| not there | instead | why |", "| --- | --- | --- |", *lines])


def page(text: str) -> str:
    """Return the page with the tables that it should have; everything around them stays."""
    _, programs, outcomes = text.partition(_PROGRAMS)
    before = text.partition(_DIFFERENT)[0].partition(_HEADING)[0].partition(_NAMES)[0]
    return (
        f"{before}{_DIFFERENT}\n{_SAID}\n\n{different()}\n\n"
        f"{_HEADING}\n{_INTRODUCTION}\n\n{missing()}\n\n{_NAMES}\n{table()}\n"
        + (f"\n{programs}{outcomes}" if programs else "")
    )


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
