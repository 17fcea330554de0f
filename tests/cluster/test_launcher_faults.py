"""The launcher blames the task that was lost, at once where that is stopped, and says that no restart is left."""

import os
import subprocess
import sys
import textwrap
import time

import pytest

from stratax.cluster.launching import LaunchPlan, LocalLauncher, command_of

pytestmark = pytest.mark.processes

LONG = 150.0
"""A grace, in seconds, whose end is not waited for."""

STOPS = """
import json, os, signal, sys, time
folder = os.path.dirname(__file__)
def note(name):
    open(os.path.join(folder, name), "w").close()
if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == {victim}:
    def end(*_):
        note("ended")
        os._exit(143)
    signal.signal(signal.SIGTERM, end)
    note("there" + os.environ["STRATAX_ATTEMPT"])
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(1000)
while not os.path.exists(os.path.join(folder, "there" + os.environ["STRATAX_ATTEMPT"])):
    time.sleep(0.02)
print("it sent no heartbeat", file=sys.stderr)
sys.exit({code})
"""


class Screen:
    def __init__(self):
        self.told = []

    def show(self, name, line, is_error):
        pass

    def tell(self, message):
        self.told.append(message)


@pytest.fixture
def launch(tmp_path):
    def launch(source, **options):
        program, screen = tmp_path / "program.py", Screen()
        program.write_text(textwrap.dedent(source))
        plan = LaunchPlan(command=command_of(str(program), (), is_module=False), **options)
        return LocalLauncher(plan, screen).run(), screen.told

    return launch


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="the system does not tell what is stopped")
@pytest.mark.parametrize(("victim", "code"), [(1, 201), (0, 201), (1, 204)])
def test_a_task_that_is_stopped_is_blamed_and_ended_without_waiting_for_it(launch, tmp_path, victim, code):
    began = time.monotonic()
    outcome, _ = launch(STOPS.format(victim=victim, code=code), workers=2, grace=LONG)
    assert time.monotonic() - began < LONG
    assert (outcome.code, outcome.task) == (202, f"worker {victim}")
    assert (
        outcome.ending() == "was stopped by a signal or a debugger, which counts as exit code 202 (STALLED)"
    )
    assert (outcome.witness, outcome.last_lines) == (f"worker {1 - victim}", ("it sent no heartbeat",))
    assert (tmp_path / "ended").exists()  # It went on, and so could end in its own way.


def test_a_task_that_does_not_notice_that_it_was_given_up_is_blamed(launch):
    outcome, _ = launch(
        """
        import json, os, sys, time
        time.sleep(1000 if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1 else 0)
        sys.exit(201)
        """,
        workers=2,
        grace=0.2,
    )
    assert (outcome.code, outcome.task, outcome.witness) == (202, "worker 1", "worker 0")
    assert outcome.how == "did not notice that the others gave it up"


@pytest.mark.parametrize(
    ("code", "restarts", "remark"),
    [
        (203, 1, "No restart is left of 1."),
        (3, 2, "The tasks are not started again: such a failure would come again."),
        (203, 0, ""),
    ],
)
def test_what_became_of_the_restarts_is_said(launch, code, restarts, remark):
    outcome, told = launch(f"raise SystemExit({code})", restarts=restarts)
    assert outcome.remark == remark
    assert len(told) == (restarts if code == 203 else 0)


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="the system does not tell what is stopped")
def test_the_command_says_who_was_stopped_and_who_noticed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(STOPS.format(victim=1, code=201))
    done = subprocess.run(
        [sys.executable, "-m", "stratax.cli", "launch", "--workers", "2", "--restarts", "1", str(program)],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 202
    how = "was stopped by a signal or a debugger, which counts as exit code 202 (STALLED)"
    assert f"stratax: worker 1 {how}; all tasks are started again in 1 s (1 restart left)." in done.stderr
    assert done.stderr.endswith(
        f"stratax: worker 1 failed first: it {how}. No restart is left of 1. What worker 0 wrote last:\n"
        "  it sent no heartbeat\n"
    )
