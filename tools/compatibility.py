"""Write the table of names in docs/compatibility.md: `python -m tools.compatibility` (or `make names`)."""

from pathlib import Path

from stratax import _doors

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compatibility.md"
_HEADING = "## Which names there are\n"


def table() -> str:
    """Return the table, with one row for each module of `stratax.tf`, as Markdown."""
    rows = [
        f"| `{door.removeprefix('stratax.')}` | {', '.join(f'`{name}`' for name in sorted(names, key=str.lower))} |"
        for door, names in _doors.read_tables("stratax.tf").items()
    ]
    return "\n".join(["| module | what is in it |", "| --- | --- |", *rows])


def page(text: str) -> str:
    """Return the page with the table that it should have; everything in front of it stays."""
    before, heading, _ = text.partition(_HEADING)
    return f"{before}{heading or _HEADING}\n{table()}\n"


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
