"""ClusterSpec: TensorFlow's questions, and what it refuses."""

import pytest

from stratax.cluster import ClusterSpec
from stratax.errors import BadArgumentError, BadTypeError, ClusterError

SPEC = ClusterSpec({"worker": ["a:1", "b:1"], "ps": {3: "p:1", 1: "q:1"}, "chief": {0: "c:1"}})


def test_it_answers_as_tensorflows_does():
    assert SPEC.jobs == ["worker", "ps", "chief"]
    assert [SPEC.num_tasks(job) for job in SPEC.jobs] == [2, 2, 1]
    assert SPEC.task_indices("ps") == [1, 3]
    assert SPEC.task_address("ps", 3) == "p:1"
    assert SPEC.job_tasks("ps") == [None, "q:1", None, "p:1"]
    assert SPEC.as_dict() == {"worker": ["a:1", "b:1"], "ps": {1: "q:1", 3: "p:1"}, "chief": ["c:1"]}


def test_equal_clusters_are_equal_however_they_are_written():
    same = ClusterSpec({"chief": ["c:1"], "ps": {1: "q:1", 3: "p:1"}, "worker": {1: "b:1", 0: "a:1"}})
    assert same == SPEC
    assert same == SPEC.as_dict()
    assert SPEC != {"worker": 3}
    assert SPEC != {"worker": {-1: "a:1"}}
    assert hash(same) == hash(SPEC)
    assert same.fingerprint() == SPEC.fingerprint()
    other = ClusterSpec({"worker": ["b:1", "a:1"]})
    assert other != SPEC
    assert other.fingerprint() != SPEC.fingerprint()
    assert SPEC != 3


def test_a_copy_and_an_empty_one():
    assert ClusterSpec(SPEC) == SPEC
    assert SPEC
    assert not ClusterSpec({})
    assert repr(ClusterSpec({"worker": ["a:1"]})) == "ClusterSpec({'worker': ['a:1']})"


@pytest.mark.parametrize(
    ("cluster", "error", "message"),
    [
        (["a:1"], BadTypeError, r"must be a dictionary.*cluster=\['a:1'\]"),
        ({3: ["a:1"]}, BadTypeError, "name must be a string.*job=3"),
        ({"worker": "a:1"}, BadTypeError, "must be a list of addresses.*worker='a:1'"),
        ({"worker": 2}, BadTypeError, "must be a list of addresses.*worker=2"),
        ({"worker": {"one": "a:1"}}, BadTypeError, "number must be an int.*'one'"),
        ({"worker": {-1: "a:1"}}, BadArgumentError, "0 or more.*-1"),
        ({"worker": [1]}, BadTypeError, r"address must be a string.*worker\[0\]=1"),
    ],
)
def test_what_is_no_cluster_is_refused(cluster, error, message):
    with pytest.raises(error, match=message):
        ClusterSpec(cluster)


@pytest.mark.parametrize("question", ["num_tasks", "task_indices", "job_tasks"])
def test_an_unknown_job_is_refused(question):
    with pytest.raises(ClusterError, match="no such job.*job_name='evaluator'"):
        getattr(SPEC, question)("evaluator")


def test_an_unknown_task_is_refused():
    with pytest.raises(ClusterError, match=r"has no task of this number; it has \[1, 3\].*task_index=0"):
        SPEC.task_address("ps", 0)
