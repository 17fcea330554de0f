"""Writes that are killed, fail or are called wrongly: the checkpoint before is there, and the reason is said."""

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.train import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    latest_checkpoint,
    load_checkpoint,
)
from tests.cluster import forks
from tests.cluster.processes import CHECKOUT, run_tasks

WRITER = """
import sys
import numpy as np
import stratax as sx
value = sx.Variable(np.zeros(2_000_000, "float32"))
checkpoint = sx.train.Checkpoint(value=value)
manager = sx.train.CheckpointManager(checkpoint, sys.argv[1], max_to_keep=2)
number = 0 if manager.restore_or_initialize() is None else int(value[0]) + 1
value.assign(np.full(2_000_000, number, "float32"))
print("ready", flush=True)
while True:
    manager.save()
    manager.sync()
    print(number, flush=True)
    number += 1
    value.assign(np.full(2_000_000, number, "float32"))
"""


def start(program, *arguments):
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        cwd=CHECKOUT,
        text=True,
    )


def kill_while_writing(folder, moment):
    """Kills a process that writes checkpoints; returns the number of the last that it was told is written."""
    process = start(WRITER, str(folder))
    written = -1
    try:
        for line in process.stdout:
            if line.strip() != "ready":
                written = int(line)
                break
        os.set_blocking(process.stdout.fileno(), False)
        time.sleep(moment)
    finally:
        process.kill()
        process.wait()
    rest = process.stdout.read() or ""
    process.stdout.close()
    return max([written, *(int(line) for line in rest.split())])


def check(folder, written):
    latest = latest_checkpoint(folder)
    value = load_checkpoint(latest).get_tensor("value")
    assert (value == value[0]).all()
    assert value[0] in (written, written + 1)  # It may have been killed before it could say so.
    for path in CheckpointManager(Checkpoint(), folder, 9).checkpoints:
        load_checkpoint(path)


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.stress) for part in range(1, 10))]
)
def test_a_process_killed_while_it_writes_leaves_whole_checkpoints_only(tmp_path, part):
    moments = random.Random(part)
    for _ in range(2):  # Twenty times in all.
        check(tmp_path, kill_while_writing(tmp_path, moments.uniform(0, 0.6)))
    checkpoint = Checkpoint(value=sx.Variable(np.zeros(2_000_000, "float32")))
    CheckpointManager(checkpoint, tmp_path, 2).save()
    checkpoint.sync()
    assert all(name.startswith("ckpt-") for name in os.listdir(tmp_path)), os.listdir(tmp_path)


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 3 MB where one may be mounted, else a limit on the size of files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode == 0:
        yield folder
        subprocess.run(["umount", str(folder)], check=True)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))
    yield folder
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_an_error_and_the_checkpoint_before_is_intact(full_disk, caplog):
    small, large = sx.Variable(1.0), np.random.default_rng(0).normal(size=1_000_000).astype("float32")
    checkpoint = Checkpoint(small=small)
    good = checkpoint.save(full_disk / "ckpt", CheckpointOptions(enable_async=False))
    small.assign(2.0)
    checkpoint.large = sx.Variable(large)
    with caplog.at_level("INFO"):
        checkpoint.save(full_disk / "ckpt")
        with pytest.raises(errors.CheckpointError, match="could not be written.*Make room"):
            checkpoint.sync()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert os.listdir(full_disk) == ["ckpt-1"]
    np.testing.assert_array_equal(checkpoint.large, large)
    assert float(small) == 2.0
    Checkpoint(small=small).restore(good).assert_consumed()
    assert float(small) == 1.0


def test_several_managers_may_write_into_one_folder_while_it_is_read(tmp_path):
    failures = []

    def save(manager):
        try:
            for _ in range(8):
                manager.save()
                load_checkpoint(latest_checkpoint(tmp_path))
            manager.sync()
        except Exception as error:
            failures.append(error)

    managers = [
        CheckpointManager(Checkpoint(v=sx.Variable(number)), tmp_path, None, checkpoint_name=name)
        for number, name in enumerate(["a", "b", "b"])
    ]
    threads = [threading.Thread(target=save, args=(manager,)) for manager in managers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(os.listdir(tmp_path)) == sorted(
        f"{name}-{number}" for name in "ab" for number in range(1, 9)
    )


AT_EXIT = """
import sys
import stratax as sx
sx.train.Checkpoint(step=sx.Variable(1)).write(sys.argv[1])
"""


@pytest.mark.processes
def test_at_the_end_of_the_program_a_write_is_finished_and_its_failure_reported(tmp_path):
    def run(path):
        return forks.run(["-c", AT_EXIT, path], dict(os.environ))

    assert run(tmp_path / "ckpt").returncode == 0
    assert load_checkpoint(tmp_path / "ckpt").get_tensor("step") == 1
    (tmp_path / "file").touch()
    failed = run(tmp_path / "file" / "ckpt")
    assert failed.returncode == 1
    assert "could not be written" in failed.stderr


TOGETHER = """
import os
import numpy as np
import stratax as sx
from stratax import errors
strategy = sx.distribute.MultiWorkerMirroredStrategy()
rank = strategy.extended.membership.share.index
folder = sys.argv[1]
quick = sx.train.CheckpointOptions(timeout_seconds=2.0)
with strategy.scope():
    value = sx.Variable(np.arange(4, dtype="float32"))

def rows(context):
    return sx.data.Dataset.from_tensor_slices(np.arange(12.0) + 100 * context.input_pipeline_id).batch(2)

own = iter(strategy.distribute_datasets_from_function(rows))
whole = iter(strategy.experimental_distribute_dataset(sx.data.Dataset.range(32).batch(8)))
next(own); next(whole)
checkpoint = sx.train.Checkpoint(value=value, whole=whole)
manager = sx.train.CheckpointManager(checkpoint, folder + "/together", max_to_keep=2)
for _ in range(3):
    path = manager.save()
manager.sync()
report(listed=sorted(os.listdir(folder + "/together")))
both = sx.train.Checkpoint(own=own)
np.random.seed(rank)
both.save(folder + "/own", sx.train.CheckpointOptions(enable_async=False))
drawn = np.random.rand()
sharded = iter(strategy.experimental_distribute_dataset(sx.data.Dataset.range(32).filter(lambda x: x >= 0).batch(8)))
next(sharded)
sx.train.Checkpoint(sharded=sharded).save(folder + "/sharded", sx.train.CheckpointOptions(enable_async=False))
expected = [np.asarray(v).tolist() for v in strategy.experimental_local_results(next(own))]
both.restore(folder + "/own-1")
report(drawn=drawn, again=np.random.rand())
report(same=expected == [np.asarray(v).tolist() for v in strategy.experimental_local_results(next(own))])
try:
    checkpoint.restore(folder + "/none")
except errors.FileMissingError as error:
    report(none=str(error))
try:
    checkpoint.write(folder + f"/path{rank}", quick)
except errors.CheckpointError as error:
    report(differ=str(error))
try:
    checkpoint.write("/proc/nowhere/ckpt")
    checkpoint.sync()
except errors.CheckpointError as error:
    report(failed=str(error))
sx.cluster.current().barrier("before", 20.0)
if rank == 0:
    try:
        checkpoint.write(folder + "/alone", quick)
    except errors.ClusterTimeoutError as error:
        report(alone=str(error), tasks=error.tasks)
sx.cluster.current().barrier("after", 30.0)
"""


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    results = run_tasks(2, TOGETHER, str(folder), devices=2)
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return folder, [result.report for result in results]


@pytest.mark.programs
@pytest.mark.processes
def test_all_tasks_save_to_one_path_and_there_is_one_whole_checkpoint(together):
    _, reports = together
    assert [report["listed"] for report in reports] == [["ckpt-2", "ckpt-3"]] * 2
    assert all(report["same"] for report in reports)


@pytest.mark.programs
@pytest.mark.processes
def test_every_task_gets_the_random_state_that_it_had(together):
    _, reports = together
    assert all(report["drawn"] == report["again"] for report in reports)
    assert reports[0]["drawn"] != reports[1]["drawn"]


@pytest.mark.programs
@pytest.mark.processes
def test_what_one_task_can_not_do_raises_in_all(together):
    _, reports = together
    for report in reports:
        assert "no file or folder has this path" in report["none"]
        assert "do not save the same" in report["differ"]
        assert "/job:worker/task:1" in report["differ"]
        assert "could not be written" in report["failed"]


@pytest.mark.programs
@pytest.mark.processes
def test_saving_in_one_task_only_names_the_missing_one(together):
    folder, reports = together
    assert reports[0]["tasks"] == ["/job:worker/task:1"]
    assert "Call it in every task" in reports[0]["alone"]
    assert not (folder / "alone").exists()


@pytest.mark.programs
@pytest.mark.processes
def test_a_checkpoint_of_two_workers_is_restored_in_one_process(together):
    folder, _ = together
    value = sx.Variable(np.zeros(4, "float32"))
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    whole = iter(strategy.experimental_distribute_dataset(sx.data.Dataset.range(32).batch(8)))
    Checkpoint(value=value, whole=whole).restore(latest_checkpoint(folder / "together")).assert_consumed()
    np.testing.assert_array_equal(value, np.arange(4))
    np.testing.assert_array_equal(strategy.gather(next(whole), axis=0), np.arange(8, 16))


@pytest.mark.programs
@pytest.mark.processes
def test_input_of_which_two_workers_read_parts_can_not_go_on_in_one(together):
    folder, _ = together
    rows = sx.data.Dataset.from_tensor_slices(np.arange(12.0)).batch(2)
    strategy = sx.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    iterator = iter(strategy.distribute_datasets_from_function(lambda context: rows))
    with pytest.raises(
        errors.DataError, match="each worker read a part of its own.*a state of 2 parts for input in 1"
    ):
        Checkpoint(own=iterator).restore(folder / "own-1")
    sharded = iter(
        strategy.experimental_distribute_dataset(sx.data.Dataset.range(32).filter(lambda x: x >= 0).batch(8))
    )
    with pytest.raises(errors.DataError, match="was read by 2 tasks, each at a position of its own"):
        Checkpoint(sharded=sharded).restore(folder / "sharded-1")
