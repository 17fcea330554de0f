"""The short form of the stress test: a few runs; `many_short_runs` does hundreds."""

import pytest

from tests.stress.many_short_runs import run_once

pytestmark = [pytest.mark.stress, pytest.mark.processes]


@pytest.mark.parametrize("number", range(4))
def test_a_short_run_on_eight_simulated_devices_does_not_deadlock(number):
    outcome = run_once(devices=8, steps=200, limit=60)
    assert outcome.kind == "ok", outcome.output


def test_a_run_that_hangs_is_noticed_and_shows_where():
    outcome = run_once(devices=8, steps=1_000_000, limit=5)
    assert outcome.kind == "hung"
    assert "short_run.py" in outcome.output
