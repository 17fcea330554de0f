"""TensorFlow's recipe for checkpoints of several workers works: the others save to temporary folders, and remove them.

A task other than the chief also waits for the chief's write before it reads.
"""

import pytest

from tests.cluster.processes import run_tasks

PROGRAM = """
import numpy as np
import stratax as sx
import stratax.tf as tf
from stratax import errors
from stratax.checkpoint import _store

strategy = sx.distribute.MultiWorkerMirroredStrategy()
resolver = strategy.cluster_resolver
task_type, task_id = resolver.task_type, resolver.task_id
folder, is_chief = os.path.join(sys.argv[1], "ckpt"), task_id == 0

def write_filepath(filepath):
    dirpath, base = os.path.dirname(filepath), os.path.basename(filepath)
    if not is_chief:
        dirpath = os.path.join(dirpath, "workertemp_" + str(task_id))
        tf.io.gfile.makedirs(dirpath)
    return os.path.join(dirpath, base)

with strategy.scope():
    value = sx.Variable(np.zeros(3, "float32"))
own_folder = write_filepath(folder)
checkpoint = tf.train.Checkpoint(value=value)
manager = tf.train.CheckpointManager(checkpoint, directory=own_folder, max_to_keep=1)

write = _store.write
def slow(path, contents):  # The chief: readers in the other task wait for it.
    time.sleep(0.3 if is_chief else 0)
    write(path, contents)
_store.write = slow

for step in range(2):
    value.assign(np.full(3, step, "float32"))
    path = manager.save()
    if not is_chief:
        report(own=path, there=os.listdir(own_folder), latest_of_own=manager.latest_checkpoint)
        tf.io.gfile.rmtree(own_folder)
    latest = tf.train.latest_checkpoint(folder)
    report(**{f"latest{step}": latest})
value.assign(np.full(3, 9, "float32"))
checkpoint.restore(latest)
report(restored=np.asarray(value).tolist(), kept=sorted(os.listdir(sys.argv[1])), chief=os.listdir(folder))

def raised(name, call):
    try:
        call()
        checkpoint.sync()
        report(**{name: None})
    except errors.StrataxError as error:
        report(**{name: f"{type(error).__name__}: {error}"})

raised("one_folder", lambda: checkpoint.write(f"{sys.argv[1]}/task-{task_id}"))
raised("variables", lambda: tf.train.Checkpoint(a=sx.Variable(np.zeros(task_id + 1))).write(folder + "/x"))
raised("no_folder", lambda: checkpoint.write(folder + "/y" if is_chief else "/proc/nowhere/y"))
raised("apart", lambda: checkpoint.restore(latest if is_chief else own_folder))

def refuse(path, contents):
    raise errors.CheckpointError("could not be written, on purpose")
_store.write = refuse
raised("failed", lambda: checkpoint.write(latest))
checkpoint.write(latest)
raised("read", lambda: tf.train.load_checkpoint(latest))
raised("told", checkpoint.sync)
raised("after", lambda: tf.train.load_checkpoint(latest))
"""


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipe")
    results = run_tasks(2, PROGRAM, str(folder))
    assert [result.code for result in results] == [0, 0], results[0].err + results[1].err
    return folder, [result.report for result in results]


pytestmark = pytest.mark.processes


def test_the_others_save_to_a_folder_of_their_own_and_remove_it(recipe):
    folder, (chief, other) = recipe
    assert other["own"] == str(folder / "workertemp_1" / "ckpt" / "ckpt-2")
    assert (other["there"], other["latest_of_own"]) == ([], None)  # The chief alone writes files.
    assert chief["restored"] == other["restored"] == [1.0] * 3
    assert chief["kept"] == ["ckpt", "workertemp_1"]
    assert chief["chief"] == ["ckpt-2"]


def test_a_reader_in_another_task_waits_for_the_chief(recipe):
    folder, (chief, other) = recipe
    for step in range(2):
        assert chief[f"latest{step}"] == other[f"latest{step}"] == str(folder / "ckpt" / f"ckpt-{step + 1}")


def test_what_is_not_the_same_is_refused_with_the_remedy(recipe):
    _, reports = recipe
    for report in reports:
        assert report["one_folder"].startswith("CheckpointError: The tasks do not save the same: they name")
        assert "a path in a temporary folder of their own" in report["one_folder"]
        assert "the same variables" in report["variables"]
        assert "Build the same model in every task" in report["variables"]
        assert ("folder that this task saves to can't be made" in str(report["no_folder"])) == (
            report is reports[1]
        )
        assert "where they save to folders of their own, that of the chief" in report["apart"]


def test_a_write_that_failed_in_the_chief_raises_in_every_task_and_is_read_in_none(recipe):
    _, reports = recipe
    for report in reports:
        assert "could not be written, on purpose" in report["failed"]
        assert "last write of this checkpoint failed" in report["read"]
        assert "could not be written, on purpose" in report["told"]
        assert report["after"] is None
