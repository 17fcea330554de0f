"""What the page on many workers says beside its code: its numbers, and what a failure looks like."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from stratax.cluster import ExitCode, _door, is_retryable
from stratax.cluster._connection import _PORT_SECONDS
from stratax.cluster._handshake import HELLO_SIZE, PROOF_SIZE
from stratax.cluster._launcher import TIMED_OUT
from stratax.cluster._watchdog import Limits
from stratax.cluster.phases import START_SECONDS
from tests.cluster.processes import without_gloo

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "many_workers.md").read_text()
LIMIT_SECONDS = 150  # For each of two runs: after 330 s pytest ends the process of the tests.

FAULT = """
import os

class Fault(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 9 and os.environ["STRATAX_ATTEMPT"] == "0" and not sx.cluster.current().is_chief:
            os.kill(os.getpid(), 9)

"""


def words(text):
    """A text without the ways in which lines are broken or named."""
    return " ".join(re.sub(r"^\[worker \d\]", "", text, flags=re.MULTILINE).split())


def test_the_table_of_exit_codes_is_that_of_the_code():
    rows = dict(re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE, re.MULTILINE))
    assert rows == {str(int(code)): code.name for code in ExitCode}
    retried = dict(re.findall(r"^\| ([\d, ]+) \| (?:`\w+`)? ?\| (yes|no) \|", PAGE, re.MULTILINE))
    told = {int(code): word == "yes" for codes, word in retried.items() for code in codes.split(",")}
    assert set(told) == {*map(int, ExitCode), 134, 137, 143} - {0}
    assert told == {code: is_retryable(code) for code in told}
    assert f"exit code {TIMED_OUT}" in PAGE


@pytest.mark.parametrize(
    ("what", "seconds"),
    [
        ("all tasks join", START_SECONDS),
        ("a step, or the others' part of its input, while another task stands still", Limits().step),
        ("no heartbeat from a task that others wait for in a step", Limits().silence),
        ("the same while it compiles, evaluates or saves", Limits().patient_silence),
        ("a task's address is still taken, by the job before", _PORT_SECONDS),
        ("a new connection proves that it knows the secret", _door.HANDSHAKE_SECONDS),
    ],
)
def test_the_table_of_time_limits_is_that_of_the_code(what, seconds):
    assert f"| {what} | {seconds:g} s |" in PAGE


def test_what_strangers_may_do_is_what_the_page_says():
    size = HELLO_SIZE + PROOF_SIZE
    assert f"may send {size} bytes in {_door.HANDSHAKE_SECONDS:g} s" in words(PAGE)
    assert f"there may be {_door.MOST_WAITING} of them, {_door.MOST_WAITING_OF_HOST} of one host" in words(
        PAGE
    )


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.timeout(2 * LIMIT_SECONDS + 20)
def test_the_pages_program_ends_with_the_same_loss_on_two_workers_one_of_which_is_lost(tmp_path):
    block = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]
    program = block.replace("with strategy.scope", f"{FAULT}with strategy.scope")
    (tmp_path / "alone.py").write_text(block)
    (tmp_path / "train.py").write_text(program.replace("verbose=0", "verbose=0, callbacks=[Fault()]"))
    alone = run(tmp_path, "alone.py")
    options = ("--workers", "2", "--devices-per-worker", "2", "--restarts", "1")
    launched = run(tmp_path, "-m", "stratax.cli", "launch", *options, "train.py")
    loss = re.search(r"workers: 1, loss (\S+)", alone.stdout)[1]
    again = re.search(r"\[worker 0\] workers: 2, loss (\S+)", without_gloo(launched.stdout))[1]
    assert float(again) == pytest.approx(float(loss), rel=1e-3, abs=2e-5)
    for quoted in (
        "stratax: worker 1 ended with exit code 137 (killed by SIGKILL); all tasks are started again in 1 s "
        "(1 restart left).",
        "/job:worker/task:1 died: its process ended or its connection was closed (",
        "all tasks have to start again from the last checkpoint.",
        "stratax: this process leaves with exit code 201 (PEER_LOST).",
    ):
        assert quoted in words(PAGE)
        assert quoted in words(launched.stderr)


def run(folder, *command):
    ours = ("STRATAX_", "JAX_", "TF_CONFIG")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**inherited, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done
