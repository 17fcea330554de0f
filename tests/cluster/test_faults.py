"""What a user sees who starts `fit` with `stratax launch`, and one worker fails in a callback."""

import os
import re
import subprocess
import sys
import time

import psutil
import pytest

from tests.cluster.processes import CHECKOUT

pytestmark = pytest.mark.processes

PROGRAM = """
import os, sys, time
import numpy as np, keras
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy(
    communication_options=sx.distribute.CommunicationOptions(timeout_seconds=4.0))
x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
with strategy.scope():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")

def fault():
    {fault}

class Fault(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 5 and strategy.extended.membership.share.index == {victim}:
            link = sx.cluster.current()._link
            # Until the other has heard of a step.
            while not link._heartbeats or link._heartbeats[{victim}].last_step is None:
                time.sleep(0.01)
            with open(sys.argv[1], "w") as file:
                file.write(str(time.monotonic()))
            fault()

print("PID", os.getpid(), flush=True)
model.fit(x, x[:, :1], batch_size=16, epochs=10**6, verbose=0, callbacks=[Fault()])
"""

FAULTS = {
    "raises": ("raise KeyError('the mistake')", 1, 1, r"raised KeyError: 'the mistake'"),
    "leaves": (
        "sys.exit(0)",
        1,
        70,
        r"left the program after step \d+ while others were (training|waiting for it)",
    ),
    "stuck": ("time.sleep(1000)", 1, 202, r"made no progress for the 4 s .*last step \d+"),
}


@pytest.mark.programs
@pytest.mark.parametrize("name", FAULTS)
def test_all_tasks_are_gone_in_seconds_and_the_launcher_tells_who_failed(name, tmp_path):
    fault, victim, code, said = FAULTS[name]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(fault=fault, victim=victim))
    happened = tmp_path / "happened"
    command = [sys.executable, "-m", "stratax.cli", "launch", "--workers", "2", "--devices-per-worker", "1"]
    done = subprocess.run(
        [*command, "--timeout", "150", str(program), str(happened)],
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env={**os.environ, "STRATAX_SIMULATE": "", "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        timeout=200,
        check=False,
    )
    seconds = time.monotonic() - float(happened.read_text())
    assert seconds < 30, seconds
    assert done.returncode == code, done.stderr
    assert re.search(rf"\[worker {1 - victim}\] .*/job:worker/task:{victim} {said}", done.stderr), done.stderr
    assert re.search(rf"worker {victim} failed first, with exit code {code}", done.stderr), done.stderr
    if name == "raises":
        assert "KeyError: 'the mistake'" in done.stderr.partition("failed first")[2]
    pids = [int(number) for number in re.findall(r"PID (\d+)", done.stdout)]
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)
