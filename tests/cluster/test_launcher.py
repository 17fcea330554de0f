"""Starting tasks on this machine: real processes are started, most of them without JAX."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from stratax.cluster import _launcher
from stratax.cluster._launcher import TIMED_OUT
from stratax.cluster.launching import LaunchPlan, LocalLauncher, command_of, describe

pytestmark = pytest.mark.processes


class Screen:
    """Keeps what it is shown and told."""

    def __init__(self):
        self.lines, self.told = [], []

    def show(self, name, line, is_error):
        self.lines.append((name, line, is_error))

    def tell(self, message):
        self.told.append(message)


@pytest.fixture
def launch(tmp_path):
    """Launches a program and gives the outcome, what the tasks wrote and what the launcher told."""

    def launch(source, **options):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        screen = options.pop("screen", None) or Screen()
        plan = LaunchPlan(
            command=command_of(str(program), options.pop("arguments", ()), is_module=False), **options
        )
        outcome = LocalLauncher(plan, screen).run()
        return outcome, screen.lines, screen.told

    return launch


def test_every_task_gets_its_place_in_one_cluster(launch):
    outcome, lines, _ = launch(
        # In one piece: the evaluator is ended as soon as the others are done.
        "import os, sys; print('{TF_CONFIG} {STRATAX_SIMULATE}'.format(**os.environ) + f' {sys.argv[1:]}')",
        workers=2,
        chief=True,
        evaluator=True,
        devices_per_worker=4,
        kind="tpu",
        arguments=("--epochs", "3"),
    )
    assert outcome.code == 0
    texts = {name: line for name, line, _ in lines}
    configs = {name: json.loads(text.split("} ")[0] + "}") for name, text in texts.items()}
    assert {"chief 0", "worker 0", "worker 1"} <= set(configs)
    clusters = {json.dumps(config["cluster"], sort_keys=True) for config in configs.values()}
    assert len(clusters) == 1
    addresses = [address for tasks in configs["chief 0"]["cluster"].values() for address in tasks]
    assert len(set(addresses)) == 3
    assert configs["worker 1"]["task"] == {"type": "worker", "index": 1}
    assert all(text.endswith("tpu:4 ['--epochs', '3']") for text in texts.values())


@pytest.mark.skipif(sys.platform != "linux", reason="looks at command lines as Linux shows them")
def test_all_tasks_of_an_attempt_have_a_secret_of_their_own(launch, monkeypatch):
    monkeypatch.setenv("STRATAX_CLUSTER_SECRET_FILE", "/a/file/of/another/cluster")
    outcome, lines, told = launch(
        """
        import os, sys
        secret = os.environ["STRATAX_CLUSTER_SECRET"]
        assert "STRATAX_CLUSTER_SECRET_FILE" not in os.environ
        with open(f"/proc/{os.getppid()}/cmdline") as launchers, open("/proc/self/cmdline") as own:
            assert secret not in launchers.read() + own.read()
        os.write(1, f"{secret}\\n".encode())
        sys.exit(203)
        """,
        workers=2,
        restarts=1,
    )
    assert outcome.code == 203
    shown = [line for _, line, is_error in lines if not is_error]
    assert sorted(shown.count(secret) for secret in set(shown)) == [2, 2]
    assert {len(secret) for secret in shown} == {64}
    assert not any(secret in text for secret in shown for text in told)


def test_the_first_failure_decides_the_code_and_ends_the_others(launch):
    outcome, _, _ = launch(
        """
        import json, os, sys, time
        if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
            raise RuntimeError("the reason")
        time.sleep(1000)
        """,
        workers=2,
        grace=0.2,
    )
    assert (outcome.code, outcome.task) == (1, "worker 1")
    assert outcome.last_lines[-1] == "RuntimeError: the reason"


def test_a_task_that_only_lost_another_is_not_blamed(launch):
    outcome, _, _ = launch(
        """
        import json, os, sys, time
        if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 0:
            sys.exit(201)
        time.sleep(0.5)
        os.kill(os.getpid(), 9)
        """,
        workers=2,
    )
    assert (outcome.code, outcome.task) == (137, "worker 1")


def test_a_killed_task_has_all_started_again_after_a_pause_that_doubles(launch):
    outcome, lines, told = launch(
        """
        import json, os
        print(os.environ["STRATAX_ATTEMPT"])
        if os.environ["STRATAX_ATTEMPT"] in "01" and json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
            os.kill(os.getpid(), 9)
        """,
        workers=2,
        restarts=3,
    )
    assert outcome.code == 0
    assert sorted(line for _, line, _ in lines) == ["0", "0", "1", "1", "2", "2"]
    ended = "worker 1 ended with exit code 137 (killed by SIGKILL); all tasks are started again"
    assert told == [f"{ended} in 1 s (3 restarts left).", f"{ended} in 2 s (2 restarts left)."]


KILLED_EVALUATOR = """
import json, os, sys, time
folder = sys.argv[1]
if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "evaluator":
    number = len(os.listdir(folder))
    open(os.path.join(folder, str(number)), "w").close()
    # In one piece: it is ended as soon as training is.
    os.write(1, f"evaluator {number}\\n".encode())
    if number < int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    time.sleep(100)
print("trained once")
while len(os.listdir(folder)) <= int(sys.argv[2]) and not os.path.exists(folder + ".end"):
    time.sleep(0.01)
"""
KILLED = "evaluator 0 ended with exit code 137 (killed by SIGKILL)"


def test_a_killed_evaluator_is_started_again_alone(launch, tmp_path):
    folder = tmp_path / "starts"
    folder.mkdir()
    outcome, lines, told = launch(KILLED_EVALUATOR, arguments=(str(folder), "1"), evaluator=True, restarts=2)
    assert (outcome.code, outcome.task) == (0, None)
    assert [line for _, line, _ in lines].count("trained once") == 1
    assert len(list(folder.iterdir())) == 2
    assert told == [f"{KILLED}; it is started again alone in 1 s (2 restarts left)."]


def test_an_evaluator_that_is_killed_behind_training_ends_by_itself_all_the_same(launch):
    outcome, lines, told = launch(
        """
        import json, os, time
        own = os.environ["STRATAX_OWN_END"]
        other = os.path.join(os.path.dirname(own), "evaluator-0")
        if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "evaluator":
            if os.path.exists(own):
                print("evaluated")
            else:
                open(own, "w").close()
                # The launcher sees the end of the other one before.
                time.sleep(1)
                os.kill(os.getpid(), 9)
        else:
            while not os.path.exists(other):
                time.sleep(0.01)
        """,
        workers=1,
        evaluator=True,
        restarts=1,
    )
    assert outcome.code == 0
    assert [line for _, line, _ in lines] == ["evaluated"]
    waited = "Training has ended; evaluator 0 is waited for."
    assert told == [waited, f"{KILLED}; it is started again alone in 1 s (1 restart left)."]


def test_training_goes_on_without_an_evaluator_for_which_no_restart_is_left(launch, tmp_path):
    folder = tmp_path / "starts"
    folder.mkdir()
    screen = Screen()

    def tell(message):
        screen.told.append(message)
        (tmp_path / "starts.end").touch()

    screen.tell = tell
    outcome, lines, told = launch(
        KILLED_EVALUATOR, arguments=(str(folder), "9"), evaluator=True, screen=screen
    )
    assert (outcome.code, outcome.task, outcome.is_trained) == (137, "evaluator 0", True)
    assert [line for _, line, _ in lines].count("trained once") == 1
    assert told == [f"{KILLED}; training goes on without it."]


WORKERS = """
import json, os, sys, time
# Arguments: a folder; which worker is killed, in how many starts; whom the chief waits for, until how many starts.
task = json.loads(os.environ["TF_CONFIG"])["task"]
own = os.path.join(sys.argv[1], "{type}-{index}".format(**task))
starts = os.path.getsize(own) if os.path.exists(own) else 0
with open(own, "a") as file:
    file.write("x")
if task["type"] == "worker" and task["index"] == int(sys.argv[2]) and starts < int(sys.argv[3]):
    os.kill(os.getpid(), 9)
last = os.path.join(sys.argv[1], sys.argv[4])
while task["type"] != "chief" or not os.path.exists(last) or os.path.getsize(last) <= int(sys.argv[5]):
    if task["type"] == "worker" and os.path.exists(os.path.join(sys.argv[1], "end")):
        # Behind the chief.
        time.sleep(0.3)
        sys.exit(0)
    time.sleep(0.01)
open(os.path.join(sys.argv[1], "end"), "w").close()
"""


def test_a_killed_worker_of_parameter_servers_is_started_again_alone(launch, tmp_path):
    folder = tmp_path / "starts"
    folder.mkdir()
    outcome, _, told = launch(
        WORKERS, arguments=(str(folder), "1", "1", "worker-1", "1"), workers=2, chief=True, ps=1, restarts=2
    )
    assert outcome.code == 0
    ended = "worker 1 ended with exit code 137 (killed by SIGKILL)"
    assert told == [f"{ended}; it is started again alone in 1 s (2 restarts left)."]
    starts = {each.name: each.stat().st_size for each in folder.iterdir()}
    assert starts == {"chief-0": 1, "worker-0": 1, "worker-1": 2, "ps-0": 1, "end": 0}


@pytest.mark.parametrize(
    ("options", "is_left_out"),
    [({"workers": 2, "ps": 1}, True), ({"workers": 1, "ps": 1}, False), ({"workers": 2}, False)],
    ids=["others", "the last one", "no servers"],
)
def test_training_goes_on_without_a_worker_if_servers_have_others(launch, tmp_path, options, is_left_out):
    folder = tmp_path / "starts"
    folder.mkdir()
    # The chief waits for a file that worker 1 writes.
    arguments = (str(folder), "0", "9", "worker-1", "0")
    outcome, _, told = launch(WORKERS, arguments=arguments, chief=True, grace=0.0, **options)
    ended = "worker 0 ended with exit code 137 (killed by SIGKILL)"
    if is_left_out:
        assert (outcome.code, told) == (0, [f"{ended}; training goes on without it."])
    else:
        assert (outcome.code, outcome.task, told) == (137, "worker 0", [])


def test_a_program_that_raises_is_not_started_again(launch):
    outcome, lines, _ = launch("print('once'); raise SystemExit(3)", workers=1, restarts=5)
    assert outcome.code == 3
    assert len(lines) == 1


def test_restarts_end(launch):
    outcome, lines, _ = launch("print('once more'); raise SystemExit(203)", workers=1, restarts=1)
    assert outcome.code == 203
    assert len(lines) == 2


def test_a_run_that_takes_too_long_is_ended(launch):
    outcome, _, _ = launch("import time; time.sleep(60)", workers=2, timeout=1.0)
    assert (outcome.code, outcome.task) == (TIMED_OUT, None)


@pytest.mark.parametrize("others", [{"evaluator": True}, {"ps": 2}], ids=["evaluator", "ps"])
def test_who_does_not_train_is_ended_when_training_is_done(launch, others):
    outcome, _, _ = launch(
        """
        import json, os, time
        if json.loads(os.environ["TF_CONFIG"])["task"]["type"] != "worker":
            time.sleep(1000)
        """,
        workers=1,
        **others,
    )
    assert outcome.code == 0


def test_who_ends_by_itself_is_waited_for(launch):
    outcome, lines, told = launch(
        """
        import json, os, time
        from stratax.cluster.launching import end_by_itself
        if json.loads(os.environ["TF_CONFIG"])["task"]["type"] == "evaluator":
            end_by_itself()
            print("begun", flush=True)
            # Until the other one has ended, and some more.
            while not os.path.exists(os.environ["STRATAX_OWN_END"] + ".trained"):
                time.sleep(0.01)
            time.sleep(0.5)
            print("evaluated", flush=True)
        else:
            other = os.path.join(os.path.dirname(os.environ["STRATAX_OWN_END"]), "evaluator-0")
            while not os.path.exists(other):
                time.sleep(0.01)
            open(other + ".trained", "w").close()
        """,
        workers=1,
        evaluator=True,
        restarts=1,
    )
    assert outcome.code == 0
    assert ("evaluator 0", "evaluated", False) in lines
    assert told == ["Training has ended; evaluator 0 is waited for."]


LOSES_ITS_PORT = """
import os, sys
print(os.environ["STRATAX_ATTEMPT"], os.environ["TF_CONFIG"])
if len(os.listdir(sys.argv[1])) < int(sys.argv[2]):
    open(os.path.join(sys.argv[1], str(os.getpid())), "w").close()
    print("ClusterError: /job:worker/task:0 can't listen on its address (taken).", file=sys.stderr)
    sys.exit(78)
"""


@pytest.mark.parametrize(("lost", "code"), [(2, 0), (9, 78)])
def test_a_port_that_another_program_took_is_given_up_for_another_twice(launch, tmp_path, lost, code):
    folder = tmp_path / "starts"
    folder.mkdir()
    outcome, lines, told = launch(LOSES_ITS_PORT, arguments=(str(folder), str(lost)))
    assert outcome.code == code
    assert told == ["Another program took the port of worker 0; all tasks get other ports."] * 2
    starts = [line for _, line, is_error in lines if not is_error]
    assert [line.split()[0] for line in starts] == ["0", "0", "0"]
    assert len(set(starts)) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_a_restart_ends_the_run(launch, number):
    """It comes while no task is running: when the launcher tells of the restart."""
    screen = Screen()
    screen.tell = lambda message: os.kill(os.getpid(), number)
    outcome, lines, _ = launch("print('once'); raise SystemExit(203)", screen=screen, restarts=5)
    assert (outcome.code, len(lines)) == (203, 1)


def test_ctrl_c_shows_no_traceback_of_it_which_the_log_has(launch, tmp_path):
    class Interrupting(Screen):
        def show(self, name, line, is_error):
            super().show(name, line, is_error)
            if line == "ready":
                os.kill(os.getpid(), signal.SIGINT)

    source = "import time; print('ready', flush=True); time.sleep(100)"
    outcome, lines, _ = launch(source, screen=Interrupting(), workers=1, log_dir=tmp_path / "logs")
    assert (outcome.code, [line for _, line, _ in lines]) == (130, ["ready"])
    assert "KeyboardInterrupt" in (tmp_path / "logs" / "worker-0.err").read_text()


def test_a_signal_while_the_tasks_are_started_reaches_those_that_were_not_yet(launch, monkeypatch):
    def start_one(job, index, *rest):
        if index == 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return started(job, index, *rest)

    started = _launcher.start_task
    monkeypatch.setattr(_launcher, "start_task", start_one)
    outcome, _, _ = launch("import time; time.sleep(100)", workers=3, grace=0.1)
    assert outcome.code == 143


def test_a_run_is_not_late_because_its_tasks_take_long_to_end():
    class Slow(LocalLauncher):
        def _end_all(self):
            self._deadline = 0.0
            return super()._end_all()

    plan = LaunchPlan(command=(sys.executable, "-c", ""), timeout=60.0)
    assert Slow(plan, Screen()).run().code == 0


def test_the_time_limit_holds_between_two_starts_too(launch):
    outcome, lines, _ = launch("print('once'); raise SystemExit(203)", restarts=9, timeout=1.5)
    assert (outcome.code, outcome.task) == (TIMED_OUT, None)
    assert len(lines) <= 2


def test_a_run_ends_when_its_output_can_not_be_shown(launch):
    class Full(Screen):
        def show(self, name, line, is_error):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        launch("import time; print('a line', flush=True); time.sleep(100)", workers=2, screen=Full())


def _command(tmp_path, source, *options):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(source))
    root = pathlib.Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-m", "stratax.cli", "launch", *options, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
        env={**os.environ, "STRATAX_SIMULATE": ""},
        start_new_session=True,
    )


def _pids(process, count):
    """The numbers that the tasks print of themselves, with their prefix."""
    return [int(process.stdout.readline().split()[-1]) for _ in range(count)]


def _ends(pid, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


WAITS = """
import os, time
print(os.getpid(), flush=True)
time.sleep(120)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's request is Linux'")
def test_tasks_end_when_the_launcher_is_killed(tmp_path):
    process = _command(tmp_path, WAITS, "--workers", "2")
    pids = _pids(process, 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    assert all(_ends(pid) for pid in pids)
    process.stdout.close()
    process.stderr.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_go_to_all_tasks(tmp_path, number, code):
    process = _command(tmp_path, WAITS, "--workers", "2", "--grace", "1", "--restarts", "3")
    pids = _pids(process, 2)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, out + err
    assert all(_ends(pid) for pid in pids)
    assert "started again" not in err
    assert f"stratax: {number.name} came, and all tasks were ended. worker " in err


STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"heard\\n"))
print(os.getpid(), flush=True)
for _ in range(1000):
    time.sleep(1)
"""


def test_the_second_signal_kills(tmp_path):
    process = _command(tmp_path, STUBBORN, "--workers", "1", "--grace", "100")
    pids = _pids(process, 1)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline().endswith("heard\n")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 137
    assert _ends(pids[0])


def test_codes_are_described():
    assert describe(0) == "exit code 0 (DONE)"
    assert describe(139) == "exit code 139 (killed by SIGSEGV)"
    assert describe(TIMED_OUT) == "exit code 124 (took too long)"
    assert describe(42) == "exit code 42"
