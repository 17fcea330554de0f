"""A chief that is killed while it saves, and a full disk, leave the checkpoint before, and its restart goes on."""

import json
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.cluster import SimpleClusterResolver
from stratax.distribute import ClusterCoordinator
from tests.checkpoint.test_faults import full_disk as full_disk
from tests.parameter_servers.coordination.clusters import in_process, processes
from tests.parameter_servers.coordination.test_saving import counting, saved_numbers

CHIEF = """
import json, sys
import stratax as sx
from tests.parameter_servers.coordination.test_saving_faults import coordinator_of_program
from tests.parameter_servers.coordination.test_saving import counting

coordinator = coordinator_of_program(json.loads(sys.argv[1]))
held, step = counting(coordinator)
checkpoint = sx.train.Checkpoint(**held)
manager = sx.train.CheckpointManager(checkpoint, sys.argv[2], 2)
checkpoint.restore(manager.latest_checkpoint)
print("restored", int(held["count"]), flush=True)
while True:
    for _ in range(10):
        coordinator.schedule(step)
    # Steps run meanwhile.
    path = manager.save()
    checkpoint.sync()
    print("saved", path, flush=True)
    coordinator.join()
"""


def coordinator_of_program(cluster):
    strategy = sx.distribute.ParameterServerStrategy(
        SimpleClusterResolver(cluster, task_type="chief", task_id=0)
    )
    return ClusterCoordinator(strategy)


@pytest.mark.stress
@pytest.mark.processes
@pytest.mark.parametrize("part", range(2))
def test_a_chief_that_is_killed_while_it_saves_goes_on_from_a_whole_checkpoint(part, tmp_path):
    moments = random.Random(part)
    with processes(servers=2, workers=2) as tasks:
        least = 0
        for _ in range(5):  # Ten times in all.
            command = [sys.executable, "-c", CHIEF, json.dumps(tasks.cluster), str(tmp_path)]
            chief = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            restored = int(chief.stdout.readline().split()[1])
            assert restored >= least
            # It has saved once, and is saving nearly all of the time.
            assert chief.stdout.readline().startswith("saved")
            time.sleep(moments.uniform(0, 0.5))
            chief.kill()
            chief.wait()
            chief.stdout.close()
            latest = sx.train.latest_checkpoint(tmp_path)
            (least,) = saved_numbers(latest)
            assert least >= restored
            print(f"restored {restored}, killed, found {least} in {latest}")


def test_a_full_disk_leaves_the_checkpoint_before_and_training_goes_on(full_disk):
    with in_process(servers=2, workers=1) as coordinator:
        held, step = counting(coordinator)
        checkpoint = sx.train.Checkpoint(**held)
        for _ in range(5):
            coordinator.schedule(step)
        coordinator.join()
        good = checkpoint.save(full_disk / "ckpt")
        checkpoint.sync()
        with coordinator.strategy.scope():
            checkpoint.large = sx.Variable(np.random.default_rng(0).normal(size=1_000_000).astype("float32"))
        for _ in range(5):
            coordinator.schedule(step)
        checkpoint.save(full_disk / "ckpt")
        with pytest.raises(errors.CheckpointError, match="could not be written.*Make room"):
            checkpoint.sync()
        coordinator.join()
        assert int(held["count"].numpy()) == 10
        assert saved_numbers(good) == {5}
        sx.train.Checkpoint(**held).restore(good).assert_consumed()
        coordinator.schedule(step)
        coordinator.join()
        assert int(held["count"].numpy()) == int(held["optimizer"].iterations.numpy()) == 6
        assert all((weight.numpy() == 6).all() for weight in held["weights"])
