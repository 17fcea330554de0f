"""One training at a time in a folder; what it begins with."""

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from stratax import errors
from stratax.tensorflow.estimator import SessionRunHook, _beginning
from tests.tensorflow.estimator.test_estimator import data, estimator

HOLDER = """
import sys, time
from stratax.io import held
hold = held.hold(sys.argv[1], lock_file=".training.lock")
print("held", flush=True)
time.sleep(100)
"""


@pytest.fixture(autouse=True)
def impatience(monkeypatch):
    monkeypatch.setattr(_beginning, "_PATIENCE_SECONDS", 0.3)


def test_two_trainings_in_one_folder_are_refused_and_evaluation_is_not(tmp_path):
    class Other(SessionRunHook):
        def after_run(self, run_context, run_values):
            estimator(tmp_path).evaluate(lambda: data(repeat=False))
            next(estimator(tmp_path).predict(lambda: data(repeat=False)))
            with pytest.raises(
                errors.CheckpointError, match=f"held by process {os.getpid()} on .*, since 20"
            ):
                estimator(tmp_path).train(data, steps=1)

    estimator(tmp_path).train(data, steps=1, hooks=[Other()])
    assert estimator(tmp_path).get_variable_value("global_step") == 1
    estimator(tmp_path).train(data, steps=1)


@pytest.mark.processes
def test_a_process_that_was_killed_holds_nothing(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(errors.CheckpointError, match="held by another process. Wait for it"):
            estimator(tmp_path).train(data, steps=1)
        process.send_signal(signal.SIGKILL)
    estimator(tmp_path).train(data, steps=1)


def test_a_training_waits_a_moment_for_one_that_is_ending(tmp_path, monkeypatch):
    monkeypatch.setattr(_beginning, "_PATIENCE_SECONDS", 30.0)
    hold = _beginning._hold(str(tmp_path))
    assert json.loads((tmp_path / ".training.lock").read_text())["pid"] == os.getpid()
    threading.Timer(0.3, hold.release).start()
    estimator(tmp_path).train(data, steps=1)


def test_a_folder_that_can_not_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        errors.FileAccessError, match="folder of the model can't be written.*gave.*another"
    ) as raised:
        estimator(tmp_path / "file" / "model").train(data, steps=1)
    # One piece of advice, not that of the function that makes folders, too.
    assert str(raised.value).count("Give") == 1
