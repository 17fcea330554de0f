"""A lost task ends the job, with an error in every task that names it, and a restart goes on from what was saved."""

import os
import subprocess
import sys
import textwrap
import threading
import unittest.mock as mock

import keras
import numpy as np
import pytest

from stratax.distribute import Server
from stratax.errors import PeerLostError
from tests.distribute.parameter_servers import one_device
from tests.parameter_servers.coordination.clusters import coordinator_of, described
from tests.stressed import but

BEGIN = """
    import json, os, signal, sys
    import numpy as np
    import stratax.tf as tf
    import keras

    folder, victim = sys.argv[1:]
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    attempt = os.environ["STRATAX_ATTEMPT"]
    with open(f"{folder}/{task['type']}{task['index']}.{attempt}", "w") as file:
        file.write(str(os.getpid()))

    def lose():
        if attempt == "0":
            os.kill(int(open(f"{folder}/{victim}.0").read()), signal.SIGKILL)

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
"""
MODEL = """
    def compiled():
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(4), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        return model

    x = np.random.default_rng(0).normal(size=(160, 10)).astype("float32")
    y = x.sum(1, keepdims=True)
"""
KERAS = (
    BEGIN
    + MODEL
    + """
    with strategy.scope():
        model = compiled()

    class Lose(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

        def on_train_batch_end(self, batch, logs=None):
            if (self.epoch, batch) == (2, 3):
                lose()

    backup = keras.callbacks.BackupAndRestore(f"{folder}/backup", delete_checkpoint=False)
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
    model.fit(dataset, epochs=4, callbacks=[backup, Lose()], verbose=0)
    model.save_weights(f"{folder}/end.weights.h5")
"""
)
COORDINATOR = (
    BEGIN
    + """
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = [tf.Variable(tf.zeros(3), name=f"w{index}") for index in range(2)]
        optimizer = keras.optimizers.SGD(1.0)
        optimizer.build(weights)

    @tf.function
    def step():
        strategy.run(lambda: optimizer.apply_gradients([(-tf.ones(3), weight) for weight in weights]))
        return tf.constant(0)

    checkpoint = tf.train.Checkpoint(weights=weights, optimizer=optimizer)
    manager = tf.train.CheckpointManager(checkpoint, f"{folder}/saved", max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    print("goes on from", int(optimizer.iterations), flush=True)
    while int(optimizer.iterations) < 40:
        for _ in range(10):
            coordinator.schedule(step)
        if int(optimizer.iterations) >= 20:
            lose()
        coordinator.join()
        manager.save()
    checkpoint.sync()
    print("ended at", [int(number) for weight in weights for number in weight.numpy()], flush=True)
"""
)


def launched(tmp_path, program, victim, restarts):
    """The exit code and all output of a program with a chief, a worker and two servers, one task of which is lost."""
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    options = ["--chief", "--workers", "1", "--ps", "2", "--restarts", str(restarts), "--timeout", "150"]
    done = subprocess.run(
        [sys.executable, "-m", "stratax.cli", "launch", *options, str(path), str(tmp_path), victim],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "STRATAX_SIMULATE": ""},
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("starts_threads", [True, False])
def test_tasks_that_serve_end_with_the_error_of_the_program_that_they_serve(starts_threads, monkeypatch):
    cluster = described(1, 1)
    tasks = [Server(cluster, job_name=job, task_index=0) for job in ("ps", "worker")]
    failures = []

    def serve(task):
        try:
            task.join()
        except PeerLostError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=serve, args=(task,), daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    with coordinator_of(cluster) as coordinator:
        coordinator.close()
        if not starts_threads:
            # As Python 3.12 at the end of a program.
            refusal = RuntimeError("can't create new thread at interpreter shutdown")
            monkeypatch.setattr(threading.Thread, "start", mock.Mock(side_effect=refusal))
        coordinator.strategy.end(PeerLostError("Task /job:ps/task:1 is gone."))
    for thread in threads:
        thread.join(10)
    assert len(failures) == 2
    assert all("PeerLostError: Task /job:ps/task:1 is gone." in failure for failure in failures)
    assert {failure.partition(" ends")[0] for failure in failures} == {
        "Task /job:ps/task:0",
        "Task /job:worker/task:0",
    }


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize(
    "program",
    [pytest.param(KERAS, marks=pytest.mark.stress, id="keras"), pytest.param(COORDINATOR, id="coordinator")],
)
def test_a_server_that_is_killed_is_named_by_every_task(program, tmp_path):
    code, out = launched(tmp_path, program, "ps1", restarts=0)
    assert code == 137
    assert "stratax: ps 1 failed first" in out
    for task in ("chief 0", "worker 0", "ps 0"):
        own = [line for line in out.splitlines() if line.startswith(f"[{task}]")]
        assert any("Task /job:ps/task:1" in line and "can't be reached" in line for line in own), out
        assert any("leaves with exit code 201 (PEER_LOST)" in line for line in own), out


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("victim", but(lambda victim: victim == "chief0", ["ps1", "chief0"]))
def test_fit_goes_on_from_its_backup_with_restarts(victim, tmp_path):
    code, out = launched(tmp_path, KERAS, victim, restarts=1)
    assert code == 0, out
    assert "all tasks are started again" in out
    names = {"keras": keras, "np": np}
    exec(textwrap.dedent(MODEL), names)
    with one_device().scope():
        expected, found = names["compiled"](), names["compiled"]()
    expected.fit(names["x"], names["y"], batch_size=16, shuffle=False, epochs=4, verbose=0)
    found.optimizer.build(found.trainable_variables)
    found.load_weights(tmp_path / "end.weights.h5")
    assert int(found.optimizer.iterations) == 40
    for left, right in zip(found.weights, expected.weights, strict=True):
        np.testing.assert_allclose(left.numpy(), right.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.programs
@pytest.mark.processes
def test_a_program_of_a_coordinator_goes_on_from_its_checkpoint_with_restarts(tmp_path):
    code, out = launched(tmp_path, COORDINATOR, "ps1", restarts=1)
    assert code == 0, out
    assert "[chief 0]  goes on from 0\n" in out
    assert "[chief 0]  goes on from 20\n" in out or "[chief 0]  goes on from 10\n" in out, out
    assert "[chief 0]  ended at [40, 40, 40, 40, 40, 40]\n" in out


IN_PROCESS = """
    import sys
    import numpy as np
    import keras
    import stratax.tf as tf
    from tests.parameter_servers.coordination.clusters import described

    cluster = tf.train.ClusterSpec(described(1, 2))
    for job in ("ps", "worker"):
        for index in range(cluster.num_tasks(job)):
            tf.distribute.Server(cluster, job_name=job, task_index=index, protocol="grpc")
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    if sys.argv[1] == "trains":
        model.fit(tf.data.Dataset.from_tensors((np.ones((4, 2)), np.ones((4, 1)))), verbose=0)
    if sys.argv[1] == "raises":
        raise ValueError("mine")
"""


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("what", but(lambda what: what == "trains", ["trains", "raises"]))
def test_a_program_ends_that_has_its_cluster_in_its_own_process(what, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(IN_PROCESS), what],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (done.returncode, "ValueError: mine" in done.stderr) == (int(what == "raises"), what == "raises")
    assert "Close() failed" not in done.stderr


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize(
    "end",
    [
        pytest.param("", id="returns"),
        pytest.param("raise ValueError('mine')", marks=pytest.mark.stress, id="raises"),
    ],
)
def test_tasks_end_that_start_behind_the_end_of_a_chief_without_a_step(end, tmp_path):
    begin = """
    import os, json, time
    if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "worker":
        time.sleep(3)
    """
    code, out = launched(
        tmp_path, textwrap.dedent(begin) + textwrap.dedent(BEGIN) + end, "nobody", restarts=0
    )
    assert code == (1 if end else 0), out
    assert all(
        f"{task} stratax: this process leaves with exit code" in out for task in ("[ps 0]    ", "[worker 0]")
    )
