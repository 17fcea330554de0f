"""Which of a test's cases `make test` leaves to `make stress`."""

from collections.abc import Callable, Iterable

import pytest


def but(quick: Callable[..., bool], cases: Iterable) -> list:
    """All cases; those that `quick` is not true of have the marker `stress`.

    For tests of many cases, of which few find what the others would.
    """

    def parameters(case):
        values = case if isinstance(case, tuple) else (case,)
        return pytest.param(*values, marks=[] if quick(*values) else [pytest.mark.stress])

    return [parameters(case) for case in cases]
