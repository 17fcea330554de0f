"""Which files each half of `make test` looks at (tools/test.sh), and `make programs`."""

import pathlib

MARKERS = ("exact", "programs")
"""Of tests that need XLA as users have it, and of whole programs. A file that has some says `pytest.mark.exact`."""


def leaves_out(expression: str, path: pathlib.Path) -> bool:
    """Returns whether a file has no test of the part that the expression of markers begins with.

    Exact tests and those of programs are in a few files only: importing all takes as long as its tests do.
    """
    (marker, *_) = expression.split() or [""]
    return (
        marker in MARKERS
        and path.suffix == ".py"
        and f"pytest.mark.{marker}" not in path.read_text(encoding="utf-8")
    )
