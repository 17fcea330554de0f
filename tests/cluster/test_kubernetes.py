"""The Kubernetes resolver, on the variables of a pod of an indexed Job."""

import pytest

from stratax.cluster import KubernetesClusterResolver
from stratax.errors import BadArgumentError, ClusterError


@pytest.fixture
def pod(monkeypatch):
    """Makes this process look like a pod."""

    def become(host="digits-1", **variables):
        for name in ("JOB_COMPLETION_INDEX", "STRATAX_NUM_WORKERS", "STRATAX_SERVICE", "STRATAX_JOB"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("socket.gethostname", lambda: host)

    return become


def test_a_pod_finds_the_others_by_their_names(pod):
    pod(JOB_COMPLETION_INDEX="1", STRATAX_NUM_WORKERS="2")
    resolver = KubernetesClusterResolver()
    assert resolver.cluster_spec() == {"worker": ["digits-0.digits:8470", "digits-1.digits:8470"]}
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "grpc://digits-1.digits:8470"


def test_job_service_and_port_can_be_given(pod):
    pod(
        host="x",
        JOB_COMPLETION_INDEX="0",
        STRATAX_NUM_WORKERS="1",
        STRATAX_JOB="j",
        STRATAX_SERVICE="s.ns.svc",
    )
    assert KubernetesClusterResolver(tf_server_port=1).cluster_spec() == {"worker": ["j-0.s.ns.svc:1"]}


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, r"JOB_COMPLETION_INDEX is a number: set completionMode: Indexed.*JOB_COMPLETION_INDEX=None"),
        ({"JOB_COMPLETION_INDEX": "1"}, "STRATAX_NUM_WORKERS is a number"),
        ({"JOB_COMPLETION_INDEX": "1", "STRATAX_NUM_WORKERS": "two"}, "STRATAX_NUM_WORKERS='two'"),
        ({"JOB_COMPLETION_INDEX": "2", "STRATAX_NUM_WORKERS": "2"}, "2 workers, numbers 0 to 1.*INDEX=2"),
        ({"JOB_COMPLETION_INDEX": "0", "STRATAX_NUM_WORKERS": "2"}, "Set STRATAX_JOB.*'digits-1'"),
    ],
)
def test_what_is_no_pod_of_an_indexed_job_is_refused(pod, variables, message):
    pod(**variables)
    with pytest.raises(ClusterError, match=message):
        KubernetesClusterResolver()


@pytest.mark.parametrize("argument", ["job_to_label_mapping", "override_client"])
def test_arguments_for_asking_the_server_have_no_meaning(argument):
    with pytest.raises(BadArgumentError, match=f"{argument} has no meaning here"):
        KubernetesClusterResolver(**{argument: {"worker": ["job=a"]}})


def test_the_port_must_be_one():
    with pytest.raises(BadArgumentError, match="tf_server_port must be between 1 and 65535.*70000"):
        KubernetesClusterResolver(tf_server_port=70000)
