import os
import re
import signal
import time

import pytest

from stratax.cli._demo import _speed
from stratax.cli._plan import TrainingPlan
from tests.cluster import forks

ENVIRONMENT = os.environ | {"STRATAX_SIMULATE": "", "COLUMNS": "100"}


def run(*arguments):
    return forks.run(["-m", "stratax.cli", *arguments], ENVIRONMENT)


def make_plan(**changes):
    numbers = {
        "strategy": "MirroredStrategy",
        "devices": ("/cpu:0",),
        "num_replicas": 8,
        "num_examples": 1500,
        "batch_size": 64,
        "steps_per_execution": 1,
        "epochs": 3,
    }
    return TrainingPlan(**(numbers | changes))


@pytest.mark.programs
def test_processes_interrupted_with_ctrl_c_leave_with_one_line_and_130(tmp_path):
    out, err = tmp_path / "out", tmp_path / "err"
    line = ("-m", "stratax.cli", "demo", "--strategy", "one", "--epochs", "100000")
    process = forks.start(line, ENVIRONMENT, tmp_path, out, err)
    try:
        # Its second epoch has begun: compiled, and in the middle of training.
        while "Epoch 2/" not in out.read_text():
            assert process.poll() is None, err.read_text()
            time.sleep(0.05)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    finally:
        process.send_signal(signal.SIGKILL)
    assert err.read_text().strip() == "Interrupted."


@pytest.mark.programs
@pytest.mark.parametrize(
    ("strategy", "simulate", "plan"),
    [
        ("tpu", "tpu:8", ["TPUStrategy, 8 replicas", "device:TPU:0 ... TPU:7", "64 global, 8 per replica"]),
        pytest.param(
            "mirrored",
            "gpu:4",
            ["MirroredStrategy, 4 replicas", "GPU:0 ... ", "64 global, 16 per replica"],
            marks=pytest.mark.stress,
        ),
        pytest.param(
            "central",
            "cpu:2",
            ["CentralStorageStrategy, 2 replicas", "64 global, 32 per replica"],
            marks=pytest.mark.stress,
        ),
        ("one", "tpu:8", ["OneDeviceStrategy, 1 replica", "device:TPU:0", "64 global, 64 per replica"]),
    ],
)
def test_processes_learn_the_digits_with_every_strategy(strategy, simulate, plan):
    done = run("demo", "--strategy", strategy, "--simulate", simulate, "--epochs", "8", "--seed", "1")
    assert done.returncode == 0, done.stderr
    for text in [*plan, "digits: 1500 images to learn from, 297 held out", "24 steps, the last with 28"]:
        assert text in done.stdout
    assert "Epoch 8/8" in done.stdout
    found = re.search(r"held-out accuracy ([0-9.]+)% \(297 images\), ([0-9,]+) examples/s", done.stdout)
    assert float(found[1]) >= 93
    assert int(found[2].replace(",", "")) > 0
    assert "Some of the held-out images" in done.stdout
    assert done.stderr == ""


def test_processes_without_a_tpu_are_told_how_to_simulate_one():
    done = run("demo", "--strategy", "tpu")
    assert done.returncode == 2
    assert "tpu:8" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_speed_leaves_the_first_epoch_out_where_there_are_more():
    plan = make_plan(num_examples=100)
    assert _speed(plan, start=0.0, epoch_ends=[10.0, 11.0, 12.0]) == 100
    assert _speed(plan, start=0.0, epoch_ends=[10.0]) == 10
