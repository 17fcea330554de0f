"""`RunConfig`: TensorFlow's fields, and what TF_CONFIG makes of a task."""

import json
import logging
import pathlib

import pytest

from stratax import errors
from stratax.tensorflow.estimator import DistributeConfig, RunConfig

CLUSTER = {"chief": ["a:1"], "ps": ["b:1", "c:1"], "worker": ["d:1", "e:1", "f:1"]}


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


@pytest.fixture
def in_cluster(monkeypatch):
    def make(task=None, cluster=CLUSTER, **fields):
        task = task and {"type": task[0], "index": task[1]}
        text = {"cluster": cluster, "task": task, **fields}
        monkeypatch.setenv("TF_CONFIG", json.dumps({key: value for key, value in text.items() if value}))
        return RunConfig()

    return make


def test_defaults_are_tensorflows():
    config = RunConfig()
    assert {name: getattr(config, name) for name in RunConfig._REPLACEABLE} == {
        "model_dir": None,
        "tf_random_seed": None,
        "save_summary_steps": 100,
        "save_checkpoints_steps": None,
        "save_checkpoints_secs": 600,
        "session_config": None,
        "keep_checkpoint_max": 5,
        "keep_checkpoint_every_n_hours": 10000,
        "log_step_count_steps": 100,
        "train_distribute": None,
        "device_fn": None,
        "protocol": None,
        "eval_distribute": None,
        "experimental_distribute": None,
        "experimental_max_worker_delay_secs": None,
        "session_creation_timeout_secs": 7200,
        "checkpoint_save_graph_def": True,
    }
    assert config.service is None


def test_checkpoints_are_saved_by_steps_or_by_seconds():
    def both(**arguments):
        config = RunConfig(**arguments)
        return config.save_checkpoints_steps, config.save_checkpoints_secs

    assert both(save_checkpoints_steps=5) == (5, None)
    assert both(save_checkpoints_secs=5) == (None, 5)
    assert both(save_checkpoints_steps=None) == (None, None)
    assert both(save_checkpoints_secs=None) == (None, None)
    assert both(save_checkpoints_steps=5, save_checkpoints_secs=None) == (5, None)
    with pytest.raises(errors.BadArgumentError, match=r"can't both be set.*steps=1, save_checkpoints_secs=2"):
        RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=2)


def test_a_replaced_copy_has_one_distance():
    config = RunConfig(model_dir="a", save_checkpoints_steps=5)
    other = config.replace(save_checkpoints_secs=7, model_dir=pathlib.Path("b"), tf_random_seed=3)
    assert (other.save_checkpoints_steps, other.save_checkpoints_secs) == (None, 7)
    assert (other.model_dir, other.tf_random_seed, config.model_dir) == ("b", 3, "a")
    assert config.replace(save_checkpoints_secs=None).save_checkpoints_steps == 5
    assert RunConfig().replace(save_checkpoints_steps=2).save_checkpoints_secs is None
    with pytest.raises(ValueError, match="can't both be set"):
        config.replace(save_checkpoints_steps=1, save_checkpoints_secs=1)
    with pytest.raises(
        ValueError, match="Replacing task_id is not supported. Expected: model_dir, .*task_id=1"
    ):
        config.replace(task_id=1)
    with pytest.raises(ValueError, match="save_summary_steps must be at least 0"):
        config.replace(save_summary_steps=-1)


@pytest.mark.parametrize(
    ("argument", "value", "expected"),
    [
        ("model_dir", "", "a folder, not an empty string"),
        ("save_summary_steps", -1, "at least 0"),
        ("save_checkpoints_steps", -1, "at least 0"),
        ("save_checkpoints_secs", -1, "at least 0"),
        ("keep_checkpoint_max", -1, "at least 0"),
        ("keep_checkpoint_every_n_hours", 0, "more than 0"),
        ("log_step_count_steps", 0, "more than 0"),
        ("tf_random_seed", 1.5, "an integer"),
        ("experimental_max_worker_delay_secs", "1", "an integer"),
        ("session_creation_timeout_secs", 0, "more than 0"),
        ("device_fn", lambda node: "", "a function of one argument 'op'"),
        ("protocol", "tcp", "'grpc' or 'grpc.verbs'"),
    ],
)
def test_what_is_out_of_range_is_told(argument, value, expected):
    with pytest.raises(ValueError, match=f"{argument} must be {expected}. Received: {argument}="):
        RunConfig(**{argument: value})


def test_a_number_that_is_text_is_told():
    with pytest.raises(
        TypeError, match="save_summary_steps must be at least 0. Received: save_summary_steps='5'"
    ):
        RunConfig(save_summary_steps="5")


def test_what_has_no_meaning_is_accepted():
    config = RunConfig(session_config=object(), device_fn=lambda op: "/cpu:0", protocol="grpc")
    assert (config.protocol, config.device_fn(1)) == ("grpc", "/cpu:0")


def test_strategies_come_from_either_argument():
    config = RunConfig(experimental_distribute=DistributeConfig("a", "b"))
    assert (config.train_distribute, config.eval_distribute) == ("a", "b")
    other = RunConfig(train_distribute="c").replace(experimental_distribute=DistributeConfig("a"))
    assert (other.train_distribute, other.eval_distribute) == ("a", None)
    with pytest.raises(
        errors.BadArgumentError, match="Either train_distribute or experimental_distribute.train_"
    ):
        RunConfig(train_distribute="c", experimental_distribute=DistributeConfig("a"))
    with pytest.raises(errors.BadArgumentError, match="Either eval_distribute or"):
        RunConfig(eval_distribute="c", experimental_distribute=DistributeConfig(eval_distribute="a"))
    with pytest.raises(errors.BadArgumentError, match="remote_cluster is not supported"):
        RunConfig(experimental_distribute=DistributeConfig(remote_cluster={"worker": ["a:1"]}))
    with pytest.raises(errors.BadTypeError, match="must be a DistributeConfig"):
        RunConfig(experimental_distribute="a")


def place(config):
    return {
        name: getattr(config, name)
        for name in (
            *("task_type", "task_id", "global_id_in_cluster", "is_chief", "master"),
            *("num_ps_replicas", "num_worker_replicas"),
        )
    }


def test_one_machine_is_its_own_chief():
    config = RunConfig()
    assert list(place(config).values()) == ["worker", 0, 0, True, "", 0, 1]
    assert (config.cluster_spec, config.evaluation_master) == ({}, "")


@pytest.mark.parametrize(
    ("task", "global_id", "address"),
    [
        (("chief", 0), 0, "a:1"),
        (("worker", 0), 1, "d:1"),
        (("worker", 2), 3, "f:1"),
        (("ps", 0), 4, "b:1"),
        (("ps", 1), 5, "c:1"),
    ],
)
def test_a_task_knows_its_place(in_cluster, task, global_id, address):
    config = in_cluster(task)
    assert list(place(config).values()) == [*task, global_id, task[0] == "chief", f"grpc://{address}", 2, 4]
    assert config.cluster_spec == CLUSTER
    assert config.replace(model_dir="a").task_type == task[0]


def test_an_evaluator_is_no_part_of_the_cluster(in_cluster):
    config = in_cluster(("evaluator", 0), eval_session_master="there")
    assert list(place(config).values()) == ["evaluator", 0, None, False, "", 0, 0]
    assert (config.cluster_spec, config.evaluation_master) == ({}, "there")


def test_worker_0_is_the_chief_where_there_is_none(in_cluster):
    cluster = {"worker": ["d:1", "e:1"]}
    assert list(place(in_cluster(("worker", 0), cluster)).values())[2:] == [0, True, "grpc://d:1", 0, 2]
    assert list(place(in_cluster(("worker", 1), cluster)).values())[2:] == [1, False, "grpc://e:1", 0, 2]


def test_a_cluster_of_one_has_no_address(in_cluster):
    assert in_cluster(("chief", 0), {"chief": ["a:1"]}).master == ""
    assert in_cluster(("chief", 0), session_master="there").master == "there"


def test_a_master_is_a_chief_by_its_name(in_cluster):
    config = in_cluster(("master", 0), {"master": ["a:1"], "worker": ["b:1"]})
    assert list(place(config).values()) == ["master", 0, 0, True, "grpc://a:1", 0, 2]
    assert config.cluster_spec == {"master": ["a:1"], "worker": ["b:1"]}
    assert in_cluster(("worker", 0), {"master": ["a:1"], "worker": ["b:1"]}).global_id_in_cluster == 1


def test_jobs_that_nobody_knows_are_tasks_of_the_cluster(in_cluster):
    # What TensorFlow 2.15 gives.
    cluster = CLUSTER | {"data": ["g:1"]}
    config = in_cluster(("data", 0), cluster)
    assert config.cluster_spec.as_dict() == cluster
    assert (config.task_type, config.task_id, config.is_chief) == ("data", 0, False)
    assert (config.num_worker_replicas, config.num_ps_replicas, config.global_id_in_cluster) == (4, 2, 1)
    assert in_cluster(("worker", 1), cluster).global_id_in_cluster == 3
    with pytest.raises(errors.ClusterError, match="task.type must be one of .*'ps'.*'data'"):
        in_cluster(("other", 0), cluster)


def test_tf_config_may_name_the_folder(in_cluster, caplog):
    with caplog.at_level(logging.INFO, "stratax"):
        assert in_cluster(None, None, model_dir="there", service={"a": 1}).model_dir == "there"
    assert "Using model_dir in TF_CONFIG: there" in caplog.text
    assert RunConfig().service == {"a": 1}
    assert RunConfig(pathlib.Path("there")).model_dir == "there"
    with pytest.raises(
        errors.BadArgumentError, match=r"must be the same.*'here', TF_CONFIG\['model_dir'\]='there'"
    ):
        RunConfig("here")


def test_a_wrong_tf_config_is_told(in_cluster):
    with pytest.raises(
        errors.ClusterError, match="without a cluster, this process is a worker.*type='chief'"
    ):
        in_cluster(("chief", 0), None)
    with pytest.raises(errors.ClusterError, match="task.index is out of range"):
        in_cluster(("worker", 7))


def test_it_shows_what_it_says():
    assert repr(RunConfig("a", 3)).startswith(
        "RunConfig(model_dir='a', tf_random_seed=3, save_summary_steps=100,"
    )
