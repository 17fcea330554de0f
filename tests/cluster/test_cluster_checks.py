"""Clusters and tasks that can't be right, wherever they were described; TF_CONFIG's are in `test_tf_config`."""

import pytest

from stratax.cluster import ClusterSpec, check_jobs
from stratax.cluster._cluster_checks import check_cluster, check_task
from stratax.errors import ClusterError

TWO = {"worker": ["a:1", "b:1"]}


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"worker": ["a"]}, r"^cluster.worker\[0\] must be 'host:port'.*it has no port.*='a'\.$"),
        ({"worker": ["a:1", "a:1"]}, r"^cluster.worker\[0\] and cluster.worker\[1\] have the same address"),
        ({"workers": ["a:1"]}, "^cluster has an unknown job.*'worker' must be meant"),
    ],
)
def test_a_wrong_cluster_is_reported_without_naming_tf_config(cluster, message):
    with pytest.raises(ClusterError, match=message):
        check_cluster(ClusterSpec(cluster))


@pytest.mark.parametrize(
    "host", ["a", "a.b-c.d", "my_host", "host.", "10.0.0.1", "[::1]", "[fe80::1%eth0]", "b\u00fccher"]
)
def test_every_kind_of_host_is_taken(host):
    check_cluster(ClusterSpec({"worker": [f"{host}:1"]}))


def test_a_task_has_to_be_one_of_the_clusters():
    check_task(ClusterSpec(TWO), "worker", 1)
    check_task(ClusterSpec(TWO), "evaluator", 0)
    with pytest.raises(ClusterError, match=r"^task.index is out of range: cluster.worker has 2 task\(s\)"):
        check_task(ClusterSpec(TWO), "worker", 2)
    with pytest.raises(ClusterError, match="^task.type must be one of.*'localhost'"):
        check_task(ClusterSpec(TWO), "localhost", 0)


def test_a_job_that_a_strategy_has_no_use_for_is_refused():
    cluster = ClusterSpec({**TWO, "ps": ["p:1"]})
    check_jobs(cluster, ("worker", "ps"), "ParameterServerStrategy")
    with pytest.raises(
        ClusterError, match=r"SomeStrategy has no use for the job 'ps'.*ParameterServerStrategy.*'p:1'"
    ):
        check_jobs(cluster, ("chief", "worker"), "SomeStrategy")
