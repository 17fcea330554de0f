"""An Estimator in a cluster with parameter servers: each worker trains in a loop of its own."""

import time

import numpy as np
import pytest
from tensorboard.backend.event_processing import event_accumulator

import stratax.tf.compat.v1 as tf
from stratax.cluster import SimpleClusterResolver
from stratax.distribute.strategies import ParameterServerStrategy, ParameterServerStrategyV1
from stratax.errors import ClusterError
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, RunConfig
from tests.cluster.processes import environment, free_ports, no_tasks
from tests.distribute.parameter_servers import running
from tests.stressed import but

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.05),
    "momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
}


def model_fn(features, labels, mode, params):
    hidden = tf.layers.dense(features["x"], 8, tf.nn.relu, name="hidden")
    out = tf.layers.dense(hidden, 1, name="out")
    loss = None if labels is None else tf.losses.mean_squared_error(labels, out)
    train_op = None
    if mode == "train":
        train_op = OPTIMIZERS[params["optimizer"]]().minimize(loss, tf.train.get_global_step())
    return EstimatorSpec(mode, predictions=out, loss=loss, train_op=train_op)


def input_fn():
    x = np.random.default_rng(0).normal(size=(96, 4)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(({"x": x}, x.sum(1, keepdims=True))).batch(8).repeat()


def estimator(folder, optimizer="sgd", **config):
    run_config = RunConfig(str(folder), tf_random_seed=1, log_step_count_steps=None, **config)
    return Estimator(model_fn, config=run_config, params={"optimizer": optimizer})


def variables(trained):
    return {name: trained.get_variable_value(name) for name in trained.get_variable_names()}


def compare(folder, optimizer, count=2, exactly=False):
    with running(count) as (_, resolver):
        strategy = ParameterServerStrategyV1(resolver)
        own = estimator(folder / "own", optimizer, train_distribute=strategy)
        own.train(input_fn, max_steps=3)
        own.train(input_fn, max_steps=6)
        found = own.evaluate(input_fn, steps=4)
        strategy.close()
    other = estimator(folder / "other", optimizer)
    other.train(input_fn, max_steps=3)
    other.train(input_fn, max_steps=6)
    left, right = variables(own), variables(other)
    assert left.keys() == right.keys()
    for name, value in left.items():
        np.testing.assert_allclose(value, right[name], rtol=1e-6, atol=0 if exactly else 1e-6, err_msg=name)
        if exactly:
            np.testing.assert_array_equal(value, right[name], err_msg=name)
    assert found["global_step"] == 6
    assert found["loss"] == pytest.approx(other.evaluate(input_fn, steps=4)["loss"], rel=1e-6)
    predicted = [next(own.predict(input_fn)), next(other.predict(input_fn))]
    np.testing.assert_allclose(*predicted, rtol=1e-5)


# A chief alone. Adam has slots of both kinds, as momentum has of one; FTRL's are begun with a number of their own.
@pytest.mark.parametrize("optimizer", but(lambda name: name in ("adam", "ftrl"), OPTIMIZERS))
def test_every_optimizer_gives_one_devices_numbers(optimizer, tmp_path):
    compare(tmp_path, optimizer, exactly=optimizer == "sgd")


def test_a_strategy_whose_chief_schedules_is_refused(tmp_path):
    with running(1) as (_, resolver):
        strategy = ParameterServerStrategy(resolver)
        with pytest.raises(ClusterError, match="each worker runs a loop of its own"):
            estimator(tmp_path, train_distribute=strategy).train(input_fn, max_steps=1)
        strategy.close()


def test_each_worker_has_an_input_pipeline_and_the_first_without_a_chief_is_chief():
    cluster = {"worker": ["127.0.0.1:1", "127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
    for index in range(2):
        resolver = SimpleClusterResolver(cluster, task_type="worker", task_id=index)
        strategy = ParameterServerStrategyV1(resolver)
        contexts = []

        def dataset_fn(context, contexts=contexts):
            contexts.append((context.num_input_pipelines, context.input_pipeline_id))
            return tf.data.Dataset.range(2)

        strategy.distribute_datasets_from_function(dataset_fn)
        assert contexts == [(2, index)]
        assert strategy.extended.membership.is_chief == (index == 0)
        strategy.close()


PROGRAM = """
import sys
from stratax.tensorflow.estimator import EvalSpec, TrainSpec, train_and_evaluate
from tests.tensorflow.estimator.test_parameter_servers import estimator, input_fn

trained = estimator(sys.argv[1], save_checkpoints_steps=20)
train_and_evaluate(
    trained,
    TrainSpec(input_fn, max_steps=int(sys.argv[2])),
    EvalSpec(input_fn, steps=4, start_delay_secs=0, throttle_secs=0),
)
report(done=True)
"""


COUNTING = """
import os, pathlib, re, sys
import numpy as np
import stratax.tf.compat.v1 as tf
from stratax.tensorflow.estimator import Estimator, EstimatorSpec, EvalSpec, RunConfig, TrainSpec, train_and_evaluate

tf.logging.set_verbosity(tf.logging.INFO)
# Of the process, not of the task: one that is started again counts anew.
number = int(re.search(r"task([0-9]+)[.]py$", sys.argv[0])[1])
one = np.eye(40, dtype="float32")[number]

def model_fn(features, labels, mode):
    # On either server, one element of a gradient is 1: this process's.
    weights = [tf.get_variable(name, [40], initializer=tf.zeros_initializer()) for name in ("first", "second")]
    loss = -sum(tf.reduce_sum(weight * features) for weight in weights)
    step = tf.train.get_global_step()
    return EstimatorSpec(mode, loss=loss, train_op=tf.train.GradientDescentOptimizer(1.0).minimize(loss, step))

def input_fn():
    return tf.data.Dataset.from_tensors(one).repeat()

class Noted(tf.train.SessionRunHook):
    # A byte for each step that was pushed: what is written stays when the process is killed.
    def begin(self):
        self.file = os.open(pathlib.Path(sys.argv[1], f"steps{number}"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def after_run(self, run_context, run_values):
        os.write(self.file, b".")

config = RunConfig(sys.argv[1], save_checkpoints_steps=200, log_step_count_steps=50)
hooks = [Noted()]
train_and_evaluate(
    Estimator(model_fn, config=config),
    TrainSpec(input_fn, max_steps=int(sys.argv[2]), hooks=hooks),
    EvalSpec(input_fn, steps=1),
)
"""


def started(running, folder, steps, *jobs, program=PROGRAM):
    """Start the program in every task of a cluster with so many tasks of each job, and give the cluster."""
    ports = iter(free_ports(sum(count for _, count in jobs)))
    cluster = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs}
    for job, count in jobs:
        for index in range(count):
            running.start(program, environment(cluster, job, index), str(folder), str(steps))
    return cluster


def check_counts(folder, at_least, killed=()):
    """Check that each step that a process has taken has changed all variables once.

    A step has a message for each server. A process that is killed meanwhile may leave its last step on both, on one or
    on none of them: nobody else has what it computed. All other steps are exactly there.

    Args:
        folder: The Estimator's.
        at_least: How many steps there are at least.
        killed: The numbers of the processes that were killed.
    """
    reader = tf.train.load_checkpoint(str(folder))
    step, first, second = (reader.get_tensor(name) for name in ("global_step", "first", "second"))
    assert step >= at_least
    noted = np.zeros_like(first)
    for path in folder.glob("steps*"):
        noted[int(path.name.removeprefix("steps"))] = path.stat().st_size
    assert (noted > 0).sum() > 1
    ended = np.delete(np.arange(len(noted)), list(killed))
    for found in (first, second):
        np.testing.assert_array_equal(found[ended], noted[ended])
        assert set(found - noted) <= {0, 1}
    # In the message of one of them.
    assert step in (first.sum(), second.sum())


@pytest.mark.programs
@pytest.mark.processes
def test_chief_workers_servers_and_evaluator_train_and_evaluate(tmp_path):
    with no_tasks() as running:
        cluster = started(running, tmp_path, 60, ("chief", 1), ("worker", 2), ("ps", 2))
        running.start(PROGRAM, environment(cluster, "evaluator", 0), str(tmp_path), "60")
        results = running.wait()
    assert [result.code for result in results] == [0] * 6, "".join(result.err for result in results)
    assert estimator(tmp_path).get_variable_value("global_step") in range(60, 63)
    assert list((tmp_path / "eval").glob("events*"))
    # Only the chief writes summaries of the training.
    assert len(list(tmp_path.glob("events*"))) == 1
    events = event_accumulator.EventAccumulator(str(tmp_path), size_guidance={"histograms": 0})
    events.Reload()
    found = [each.histogram_value for each in events.Histograms("staleness")]
    # With two others in loops of their own no gradient is much staler.
    assert found[0].num >= 1
    assert all(0 <= each.min <= each.max < 60 for each in found if each.num)


@pytest.mark.stress
@pytest.mark.processes
def test_workers_that_are_killed_twenty_times_lose_no_more_than_their_last_steps(tmp_path):
    with no_tasks() as running:
        jobs = ("chief", 1), ("worker", 2), ("ps", 2)
        cluster = started(running, tmp_path, 8000, *jobs, program=COUNTING)
        running.wait_for(0, "global_step/sec")
        workers, random, killed = {0: 1, 1: 2}, np.random.default_rng(0), []
        for number in range(20):
            time.sleep(random.uniform(0.1, 1.0))
            killed.append(workers[number % 2])
            running.kill(killed[-1])
            workers[number % 2] = running.start(
                COUNTING, environment(cluster, "worker", number % 2), str(tmp_path), "8000"
            )
        results = running.wait(300, only=[0, *workers.values(), 3, 4])
    assert [result.code for result in results] == [0] * 5, "".join(result.err for result in results)
    check_counts(tmp_path, 8000, killed)


@pytest.mark.stress
@pytest.mark.processes
def test_a_chief_that_is_killed_goes_on_with_what_workers_have_done(tmp_path):
    with no_tasks() as running:
        cluster = started(running, tmp_path, 4000, ("chief", 1), ("worker", 1), ("ps", 2), program=COUNTING)
        running.wait_for(0, "global_step/sec")
        running.wait_for(1, "global_step/sec")
        running.kill(0)
        again = running.start(COUNTING, environment(cluster, "chief", 0), str(tmp_path), "4000")
        results = running.wait(200, only=[again, 1, 2, 3])
    assert [result.code for result in results] == [0] * 4, "".join(result.err for result in results)
    assert "The parameter servers have the variables already" in results[0].err
    check_counts(tmp_path, 4000, killed=[0])


@pytest.mark.stress
@pytest.mark.processes
def test_a_server_that_is_killed_is_named_by_every_task(tmp_path):
    with no_tasks() as running:
        started(running, tmp_path, 100_000, ("chief", 1), ("worker", 1), ("ps", 2), program=COUNTING)
        # Who has not begun when a server is killed waits for it to come.
        running.wait_for(0, "global_step/sec")
        running.wait_for(1, "global_step/sec")
        running.kill(3)
        results = running.wait(120, only=[0, 1])
    for result in results:
        assert result.code != 0
        assert "/job:ps/task:1" in result.err


@pytest.mark.programs
@pytest.mark.processes
def test_when_a_hook_of_the_chief_stops_all_tasks_end(tmp_path):
    program = COUNTING.replace(
        "max_steps=int(sys.argv[2]), hooks=hooks",
        "max_steps=10**6, hooks=[*hooks, tf.train.StopAtStepHook(num_steps=int(sys.argv[2]))]"
        " if config.is_chief else hooks",
    )
    with no_tasks() as running:
        started(running, tmp_path, 300, ("chief", 1), ("worker", 1), ("ps", 1), program=program)
        results = running.wait(60)
    assert [result.code for result in results] == [0] * 3, "".join(result.err for result in results)
    check_counts(tmp_path, 300)


@pytest.mark.stress
@pytest.mark.processes
def test_an_evaluator_that_is_killed_harms_nobody_and_goes_on_when_it_is_back(tmp_path):
    with no_tasks() as running:
        cluster = started(running, tmp_path, 3000, ("chief", 1), ("worker", 1), ("ps", 1), program=COUNTING)
        evaluator = environment(cluster, "evaluator", 0)
        killed = running.start(COUNTING, evaluator, str(tmp_path), "3000")
        running.wait_for(0, "global_step/sec")
        running.kill(killed)
        back = running.start(COUNTING, evaluator, str(tmp_path), "3000")
        results = running.wait(300, only=[0, 1, 2, back])
    assert [result.code for result in results] == [0] * 4, "".join(result.err for result in results)
    check_counts(tmp_path, 3000)
    assert list((tmp_path / "eval").glob("events*"))
