"""How many cores there are, and what follows it."""

import os

import pytest

from stratax.data.plan import _cores


@pytest.fixture
def three_cores(monkeypatch):
    """A process that was given three of a machine's 64 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 63}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)


def test_the_cores_are_those_that_the_process_may_use(three_cores):
    assert _cores.num_cores() == 3


def test_where_the_system_does_not_tell_they_are_those_of_the_machine(three_cores, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert _cores.num_cores() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _cores.num_cores() == 1
