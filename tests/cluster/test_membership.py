"""Numbering the tasks that compute together, and saying where two clusters differ."""

import pytest

from stratax.cluster import ClusterSpec
from stratax.cluster._membership import difference, host_and_port, make_membership

SPEC = ClusterSpec(
    {"ps": ["p:1"], "worker": {2: "b:1", 0: "a:1"}, "chief": ["[::1]:7"], "evaluator": ["e:1"]}
)


@pytest.mark.parametrize(("task", "index"), [(("chief", 0), 0), (("worker", 0), 1), (("worker", 2), 2)])
def test_the_chief_is_first_and_ps_and_evaluator_are_left_out(task, index):
    membership = make_membership(SPEC, *task)
    assert membership.names == ("/job:chief/task:0", "/job:worker/task:0", "/job:worker/task:2")
    assert membership.addresses == ("[::1]:7", "a:1", "b:1")
    assert (membership.index, membership.name, membership.coordinator_address) == (
        index,
        membership.names[index],
        ("::1", 7),
    )


def test_a_start_of_a_job_has_a_number_of_its_own(monkeypatch):
    monkeypatch.setenv("STRATAX_JOB_ID", "third")
    assert make_membership(SPEC, "worker", 0).introduction()["job"] == "third"
    monkeypatch.delenv("STRATAX_JOB_ID")
    assert make_membership(SPEC, "worker", 0).job_id == ""


def test_addresses_are_taken_apart():
    assert host_and_port("a.b:80") == ("a.b", 80)
    assert host_and_port("[fe80::1]:80") == ("fe80::1", 80)


@pytest.mark.parametrize(
    ("theirs", "field"),
    [
        ({"worker": ["a:1"]}, "cluster.worker: ['a:1', 'b:1'] and ['a:1']"),
        ({"worker": ["a:1", "b:1"], "ps": ["p:1"]}, "cluster.ps: None and ['p:1']"),
        ("nonsense", "cluster: {'worker': ['a:1', 'b:1']} and 'nonsense'"),
    ],
)
def test_where_two_clusters_differ(theirs, field):
    assert difference({"worker": ["a:1", "b:1"]}, theirs) == field
