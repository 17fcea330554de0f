"""A machine is taken away: all tasks save at one step and leave with a code that is started again."""

import os
import signal
import threading
import time

import pytest

import stratax as sx
from stratax import errors
from stratax.cluster import Cluster, ClusterSpec, ExitCode, SimpleClusterResolver, is_retryable
from stratax.train import Checkpoint, CheckpointManager, PreemptionCheckpointHandler, TerminationConfig
from tests.cluster.processes import tasks

ALONE = SimpleClusterResolver(ClusterSpec({}))


@pytest.fixture(autouse=True)
def signals_as_before():
    handler, descriptor = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)
    yield
    signal.signal(signal.SIGTERM, handler)
    signal.set_wakeup_fd(descriptor)


def wait_until_heard(handler):
    """Waits until a handler has heard that the machine goes away."""
    deadline = time.monotonic() + 60
    while handler._cluster.stop_reason is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def train(folder, total, *, at=None, signalled=None, config=None, manager=False):
    step = sx.Variable(0)
    checkpoint = Checkpoint(step=step)
    saved = CheckpointManager(checkpoint, folder, 2) if manager else checkpoint
    handler = PreemptionCheckpointHandler(ALONE, saved, None if manager else folder, config)
    seen = []
    for number in range(handler.total_run_calls, total):
        if number == at:
            signalled()
            wait_until_heard(handler)
        handler.run(lambda: (seen.append(int(step)), step.assign_add(1)))
    return seen, step


def test_a_strategy_of_one_machine_has_no_resolver_and_the_handler_needs_none(tmp_path):
    strategies = (
        sx.distribute.OneDeviceStrategy("/cpu:0"),
        sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]),
        sx.distribute.CentralStorageStrategy(["/cpu:0"]),
        sx.distribute.get_strategy(),
    )
    assert [strategy.cluster_resolver for strategy in strategies] == [None] * 4
    step = sx.Variable(0)
    handler = PreemptionCheckpointHandler(strategies[1].cluster_resolver, Checkpoint(step=step), tmp_path)
    handler.run(step.assign_add, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    wait_until_heard(handler)
    with pytest.raises(SystemExit):
        handler.run(step.assign_add, 1)
    assert int(step) == 1


@pytest.mark.parametrize("manager", [False, True])
def test_sigterm_saves_and_leaves_and_the_next_run_goes_on(tmp_path, manager):
    with pytest.raises(SystemExit) as left:
        train(tmp_path, 9, at=4, signalled=lambda: os.kill(os.getpid(), signal.SIGTERM), manager=manager)
    assert left.value.code == ExitCode.PREEMPTED
    assert is_retryable(left.value.code)
    seen, step = train(tmp_path, 9, manager=manager)
    assert seen == [4, 5, 6, 7, 8]
    assert int(step) == 9


def test_a_watcher_gives_notice_and_functions_of_the_users_save_and_exit(tmp_path):
    notice, done = threading.Event(), []
    config = TerminationConfig(
        termination_watcher_fn=notice.is_set,
        exit_fn=lambda: done.append("exit"),
        save_fn=lambda *args: done.append("save"),
    )

    train(tmp_path, 3, at=2, signalled=notice.set, config=config)
    assert done[:2] == ["save", "exit"]


def test_training_goes_on_for_most_of_the_grace_period(tmp_path):
    step = sx.Variable(0)
    handler = PreemptionCheckpointHandler(
        ALONE, Checkpoint(step=step), tmp_path, TerminationConfig(grace_period=2.0)
    )

    def train_for_ever():
        while True:
            handler.run(lambda: (step.assign_add(1), time.sleep(0.02)))

    step.assign_add(0)  # Compiled here: the longer a step, the less of the period is left for more of them.
    for _ in range(2):
        handler.run(step.assign_add, 1)
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(SystemExit):
        train_for_ever()
    assert 0.5 < time.monotonic() - began < 30
    assert int(step) > 5


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match="cluster_resolver must be"):
        PreemptionCheckpointHandler(3, Checkpoint(), tmp_path)
    with pytest.raises(errors.BadTypeError, match="checkpoint_or_checkpoint_manager must be"):
        PreemptionCheckpointHandler(ALONE, 3, tmp_path)
    with pytest.raises(errors.BadArgumentError, match="needs a folder"):
        PreemptionCheckpointHandler(ALONE, Checkpoint())
    with pytest.raises(errors.BadArgumentError, match="grace_period is a number of seconds"):
        TerminationConfig(grace_period=-1)
    many = SimpleClusterResolver(ClusterSpec({"worker": ["a:1", "b:1"]}), task_type="worker", task_id=0)
    with pytest.raises(errors.ClusterError, match="not connected to its cluster"):
        PreemptionCheckpointHandler(many, Checkpoint(), tmp_path)


def test_what_goes_wrong_in_agreeing_ends_the_run_before_the_step(tmp_path, monkeypatch):
    def agree_on_stop(self, step):
        raise RuntimeError("the connection broke")

    seen = []
    handler = PreemptionCheckpointHandler(ALONE, Checkpoint(step=sx.Variable(0)), tmp_path)
    monkeypatch.setattr(Cluster, "agree_on_stop", agree_on_stop)
    with pytest.raises(RuntimeError, match="the connection broke"):
        handler.run(seen.append, 1)
    assert seen == []
    assert handler.total_run_calls == 0


TRAIN = """
import numpy as np, keras
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
total, folder = int(sys.argv[2]), sys.argv[1]
rows = np.arange(240, dtype="float32").reshape(240, 1)
with strategy.scope():
    weights = sx.Variable(np.zeros((1,), "float32"))
dataset = sx.data.Dataset.from_tensor_slices(rows).shuffle(240, seed=3).repeat().batch(4)
iterator = iter(strategy.experimental_distribute_dataset(dataset))
checkpoint = sx.train.Checkpoint(weights=weights, iterator=iterator)
handler = sx.train.PreemptionCheckpointHandler(strategy.cluster_resolver, checkpoint, folder)
first = handler.total_run_calls

@sx.function
def step(batch):
    total = strategy.reduce("SUM", strategy.run(lambda x: x.sum(), args=(batch,)), axis=None)
    weights.assign(weights * 0.99 + total * 0.001)
    return total

def train():
    found = float(step(next(iterator)))
    time.sleep(float(sys.argv[3]))
    return found

report(first=first)
for number in range(first, total):
    handler.run(train)
    print("step", number, flush=True)
report(weights=np.asarray(weights).tolist())
"""


STEPS = "200"  # Far more than are made before a signal is heard, on a busy machine too.


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The weights of a run to which nothing happens."""
    with tasks(2, TRAIN, str(tmp_path_factory.mktemp("undisturbed")), STEPS, "0") as running:
        results = running.wait()
    assert [result.code for result in results] == [0, 0], results[0].err
    return results[0].report["weights"]


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("signalled", [(1,), (0, 1)], ids=["one", "all"])
def test_at_sigterm_both_tasks_save_one_step_and_resuming_is_exact(tmp_path, undisturbed, signalled):
    with tasks(2, TRAIN, str(tmp_path), STEPS, "0.1") as running:
        running.wait_for(1, "step 6")
        for index in signalled:
            running.signal(index, signal.SIGTERM)
        ended = running.wait()
    assert [result.code for result in ended] == [ExitCode.PREEMPTED] * 2, ended[0].err + ended[1].err
    counts = {result.err.partition("A checkpoint was saved after ")[2].split(" ")[0] for result in ended}
    assert len(counts) == 1
    assert any(f"SIGTERM in /job:worker/task:{index}" in ended[0].err for index in signalled)
    assert len(os.listdir(tmp_path)) == 1
    with tasks(2, TRAIN, str(tmp_path), STEPS, "0") as running:
        resumed = running.wait()
    assert {result.report["first"] for result in resumed} == {int(count) for count in counts}
    for result in resumed:
        assert result.report["weights"] == undisturbed


STUCK = """
import stratax as sx
handler = sx.train.PreemptionCheckpointHandler(
    sx.cluster.TFConfigClusterResolver(), sx.train.Checkpoint(step=sx.Variable(0)), sys.argv[1])
def stuck():
    print("stuck", flush=True)
    while handler._cluster.stop_reason is None:
        time.sleep(0.01)
    print("heard", flush=True)
    time.sleep(100)
handler.run(stuck)
"""


@pytest.mark.processes
def test_a_second_sigterm_leaves_at_once(tmp_path):
    with tasks(1, STUCK, str(tmp_path)) as running:
        running.wait_for(0, "stuck")
        running.signal(0, signal.SIGTERM)
        running.wait_for(0, "heard")
        time.sleep(1.0)  # Those that come at once are one.
        running.signal(0, signal.SIGTERM)
        (result,) = running.wait()
    assert result.code == 128 + signal.SIGTERM
    assert is_retryable(result.code)
    assert "a second SIGTERM" in result.err
