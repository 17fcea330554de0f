"""Which of a test's cases `make test` leaves to `make stress`."""

from collections.abc import Callable, Iterable

import pytest


def but(quick: Callable[..., bool], cases: Iterable) -> list:
    """All cases; those that `quick` is not true of have the marker `stress`.

    For tests with the marker `exact`, all of which `make stress` runs: what has been left to it costs nothing more.
    """

    def parameters(case):
        values = case if isinstance(case, tuple) else (case,)
        return pytest.param(*values, marks=[] if quick(*values) else [pytest.mark.stress])

    return [parameters(case) for case in cases]
