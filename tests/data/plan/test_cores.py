"""How many cores there are, and what follows it."""

import os

import pytest

from stratax.data import AUTOTUNE, Dataset
from stratax.data.plan import _arguments, _cores
from stratax.data.readers import _arguments as _reader_arguments


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


def test_autotune_starts_no_more_threads_processes_or_readers_than_that(three_cores):
    assert _arguments.threads_of(AUTOTUNE) == 3
    assert _reader_arguments.as_parallel_reads(AUTOTUNE) == 3
    mapped = Dataset.range(2).map(abs, num_processes=AUTOTUNE)
    assert mapped._node._num_processes == 3
