"""Which files each half of `make test` looks at: tools/test.sh."""

import pathlib

EXACT = "exact"
"""The marker of tests that need XLA as users have it. It stands in a file as `pytest.mark.exact`."""


def leaves_out(expression: str, path: pathlib.Path) -> bool:
    """Returns whether a file has no test of the half that the expression of markers selects.

    The half of exact tests looks at a few files only: importing all takes as long as its tests do.
    """
    return (
        expression.split()[:1] == [EXACT]
        and path.suffix == ".py"
        and f"pytest.mark.{EXACT}" not in path.read_text(encoding="utf-8")
    )
