"""How long tasks that start late are waited for."""

import pytest

from stratax.cluster import _start
from stratax.errors import ClusterError


@pytest.mark.parametrize(("text", "seconds"), [("", 3600), ("900", 900), (" 0.5 ", 0.5)])
def test_the_environment_sets_the_limit(monkeypatch, text, seconds):
    monkeypatch.setenv(_start.START_VARIABLE, text)
    assert _start.start_seconds() == seconds


@pytest.mark.parametrize("text", ["15m", "0", "-1", "inf", "nan"])
def test_what_is_no_time_is_refused(monkeypatch, text):
    monkeypatch.setenv(_start.START_VARIABLE, text)
    with pytest.raises(ClusterError, match=f"STRATAX_START_TIMEOUT.*seconds, such as 900.*'{text}'"):
        _start.start_seconds()
