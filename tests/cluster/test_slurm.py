"""The Slurm resolver, on the variables that Slurm sets."""

import os

import pytest

from stratax.cluster import SlurmClusterResolver
from stratax.cluster._slurm import expand_counts, expand_hosts
from stratax.errors import BadArgumentError, BadTypeError, ClusterError


@pytest.fixture
def slurm(monkeypatch):
    """Sets Slurm's variables, without their prefix, and nothing else of Slurm's."""
    for name in [name for name in os.environ if name.startswith("SLURM_") or name == "CUDA_VISIBLE_DEVICES"]:
        monkeypatch.delenv(name)

    def set_variables(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(f"SLURM_{name}", value)

    # Set by the resolver, so that monkeypatch takes it away again.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    return set_variables


def test_four_tasks_on_two_nodes(slurm):
    slurm(PROCID="2", STEP_NODELIST="n[1-2]", STEP_TASKS_PER_NODE="2(x2)", GPUS_ON_NODE="8")
    resolver = SlurmClusterResolver()
    assert resolver.cluster_spec() == {"worker": ["n1:8888", "n1:8889", "n2:8888", "n2:8889"]}
    assert resolver.get_task_info() == ("worker", 2)
    assert resolver.master() == "grpc://n2:8888"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"


def test_jobs_take_the_tasks_in_order(slurm):
    slurm(PROCID="3", JOB_NODELIST="a,b", TASKS_PER_NODE="3,1")
    resolver = SlurmClusterResolver({"chief": 1, "worker": 2, "ps": 1}, port_base=9000, rpc_layer=None)
    assert resolver.cluster_spec() == {"chief": ["a:9000"], "worker": ["a:9001", "a:9002"], "ps": ["b:9000"]}
    assert (resolver.get_task_info(), resolver.master()) == (("ps", 0), "b:9000")
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_gpus_that_slurm_has_set_stay(slurm, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    slurm(PROCID="1", STEP_NODELIST="n1", STEP_TASKS_PER_NODE="2", GPUS_ON_NODE="2")
    SlurmClusterResolver()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "5"


@pytest.mark.parametrize(
    ("arguments", "gpus"), [({}, None), ({"gpus_per_node": 4, "gpus_per_task": 2}, "2,3")]
)
def test_gpus_are_set_only_where_there_are_some(slurm, arguments, gpus):
    slurm(PROCID="1", STEP_NODELIST="n1")
    SlurmClusterResolver(tasks_per_node=2, **arguments)
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == gpus
    SlurmClusterResolver(tasks_per_node=[2], auto_set_gpu=False)


@pytest.mark.parametrize(
    ("names", "hosts"),
    [
        ("login", ["login"]),
        ("a,b-c.d", ["a", "b-c.d"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[008-010,2]x,m", ["n008x", "n009x", "n010x", "n2x", "m"]),
        ("r[1-2]n[1,3]", ["r1n1", "r1n3", "r2n1", "r2n3"]),
    ],
)
def test_short_lists_of_hosts_are_written_out(names, hosts):
    assert expand_hosts(names) == hosts


@pytest.mark.parametrize(
    "names", ["", "a,,b", "n[1-", "n[]", "n[3-1]", "n[a-b]", "n[1-9999999]", "n]1[", "a b"]
)
def test_what_is_no_list_of_hosts_is_refused(names):
    with pytest.raises(ClusterError, match="list of hosts must be given as in"):
        expand_hosts(names)


def test_what_is_no_list_of_counts_is_refused():
    assert expand_counts("1,2(x3)") == [1, 2, 2, 2]
    for counts in ("", "2x3", "a", "9999999", "1(x9999999)", "1(x999999)"):
        with pytest.raises(ClusterError, match=r"given as in '4\(x2\),1'"):
            expand_counts(counts)


@pytest.mark.parametrize(
    ("variables", "arguments", "message"),
    [
        ({}, {}, "not started by Slurm.*SLURM_PROCID"),
        ({"PROCID": "x"}, {}, "SLURM_PROCID must be a number.*'x'"),
        ({"PROCID": "0"}, {}, "none of SLURM_STEP_NODELIST, SLURM_JOB_NODELIST is set"),
        ({"PROCID": "0", "STEP_NODELIST": "a"}, {}, "none of SLURM_STEP_TASKS_PER_NODE"),
        ({"PROCID": "2"}, {"tasks_per_node": 1}, r"step has 2 tasks.*SLURM_PROCID=2"),
        (
            {"PROCID": "0", "GPUS_ON_NODE": "gpu:2"},
            {"tasks_per_node": 1},
            "SLURM_GPUS_ON_NODE must be a number.*'gpu:2'",
        ),
        ({"PROCID": "0"}, {"tasks_per_node": [1]}, r"must be given for 2 nodes.*\[1\]"),
        ({"PROCID": "0"}, {"tasks_per_node": 1, "jobs": {"worker": 3}}, "has 2 tasks; the jobs.*'worker': 3"),
        ({"PROCID": "0"}, {"tasks_per_node": 1, "jobs": {"boss": 2}}, "unknown job"),
        (
            {"PROCID": "0"},
            {"tasks_per_node": 2, "gpus_per_node": 2, "gpus_per_task": 2},
            "too few for 2 tasks of 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused(slurm, variables, arguments, message):
    if arguments:
        slurm(STEP_NODELIST="n[1-2]")
    slurm(**variables)
    with pytest.raises(ClusterError, match=message):
        SlurmClusterResolver(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"jobs": {"worker": -1, "ps": 3}}, BadArgumentError, r"jobs\['worker'\] must be at least 1.*=-1"),
        ({"jobs": {"worker": "2"}}, BadTypeError, r"jobs\['worker'\] must be a number.*='2'"),
        ({"jobs": ["worker"]}, BadTypeError, r"jobs must be a dictionary.*\['worker'\]"),
        ({"tasks_per_node": 0}, BadArgumentError, "tasks_per_node must be at least 1"),
        ({"tasks_per_node": [1, "1"]}, BadTypeError, "tasks_per_node must be a number.*='1'"),
        ({"gpus_per_node": "4"}, BadTypeError, "gpus_per_node must be a number.*='4'"),
        ({"gpus_per_task": -1}, BadArgumentError, "gpus_per_task must be at least 0"),
    ],
)
def test_arguments_that_are_no_numbers_of_tasks_are_refused(slurm, arguments, error, message):
    slurm(PROCID="0", STEP_NODELIST="n[1-2]", STEP_TASKS_PER_NODE="1(x2)")
    with pytest.raises(error, match=message):
        SlurmClusterResolver(**arguments)


def test_a_port_must_be_one():
    with pytest.raises(BadArgumentError, match="port_base must be between 1 and 65535.*=0"):
        SlurmClusterResolver(port_base=0)
