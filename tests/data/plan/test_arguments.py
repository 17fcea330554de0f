"""AUTOTUNE starts no more than there are cores."""

import os

import pytest

from stratax.data import AUTOTUNE, Dataset
from stratax.data.plan import _arguments
from stratax.data.readers import _arguments as _reader_arguments


@pytest.fixture
def three_cores(monkeypatch):
    """A process that was given three of a machine's 64 cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 63}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)


def test_autotune_starts_no_more_threads_processes_or_readers_than_that(three_cores):
    assert _arguments.threads_of(AUTOTUNE) == 3
    assert _reader_arguments.as_parallel_reads(AUTOTUNE) == 3
    mapped = Dataset.range(2).map(abs, num_processes=AUTOTUNE)
    assert mapped._node._num_processes == 3
