"""Compiled for TPUs, what Stratax dispatches takes no more than the same program written by hand."""

import pytest

from benchmarks import _compiled
from stratax.command.rehearsal import parse_topology
from tests.command.rehearsal.devices import needs_libtpu

pytestmark = needs_libtpu

LIMIT = 1.02


@pytest.mark.programs
@pytest.mark.parametrize(
    ("method", "kind", "steps", "name"),
    [
        ("fit", "cnn", 1, "v5e-8"),
        ("fit", "mlp", 5, "v3-8"),
        ("loop", "mlp", 1, "v3-8"),
        ("evaluate", "mlp", 5, "v5e-8"),
        ("predict", "mlp", 1, "v5e-8"),
        ("predict", "mlp", 5, "v3-8"),
    ],
)
def test_a_program_computes_reads_keeps_and_sends_no_more_than_by_hand(method, kind, steps, name):
    ours, theirs = _compiled.both(method, kind, steps, parse_topology(name))
    found = _compiled.ratios(ours, theirs)
    assert all(ratio <= LIMIT for ratio in found.values()), found
    # What may be overwritten is, on both sides.
    for report in (ours, theirs):
        assert report.memory.reused >= report.memory.donated
    assert ours.memory.donated >= theirs.memory.donated - 16
