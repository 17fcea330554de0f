"""When a task of a cluster dies, raises, leaves, stops or stands still, all go, in seconds, and say why."""

import re
import signal
import time

import pytest

from tests.cluster.processes import run_tasks, tasks
from tests.cluster.programs import CONNECT, TRAIN

SHORT_STEP = {"TEST_LIMITS": '{"step_timeout": 2.5}'}
SHORT_SILENCE = {"TEST_LIMITS": '{"silence_timeout": 2.5}'}

# However busy the machine, the collective fails before the process is ended for not listening.
PATIENT = """
from stratax.cluster import _cluster
_cluster._GRACE_SECONDS = 25.0
"""

pytestmark = pytest.mark.processes


def assert_lost(result, pattern):
    """A survivor has left with the documented code, and its error says this."""
    assert result.code == 201, result
    assert re.search(pattern, result.err), result.err
    assert "this process leaves with exit code 201 (PEER_LOST)" in result.err


@pytest.mark.parametrize("victim", [0, 1])
def test_a_task_that_is_killed_is_named_by_the_others_within_ten_seconds(victim):
    program = f"""
def tell(step):
    if step == 5 and cluster.process_index == 2:
        wait_until_heard({victim})
        print("HEARD", flush=True)
train(10**6, tell)
"""
    with tasks(3, TRAIN + program) as running:
        running.wait_for(2, "HEARD")
        running.kill(victim)
        began = time.monotonic()
        results = running.wait()
        assert time.monotonic() - began < 10
    assert results.pop(victim).code == -signal.SIGKILL
    for result in results:
        # It is raised, or where a collective does not return in time, told on the way out.
        assert_lost(
            result,
            rf"(PeerLostError|stratax): /job:worker/task:{victim} died: .*last step \d+.*was in step \d+",
        )


def test_a_result_that_never_comes_because_of_a_killed_task_names_it_too():
    """The error is JAX', raised where the program reads the result, which knows nothing of tasks."""
    program = """
def read(step):
    if step == 8 and cluster.process_index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if step == 8:
        np.asarray(add(ones))
train(10**6, read)
"""
    survivor, _ = run_tasks(2, TRAIN + PATIENT + program)
    assert_lost(survivor, r"PeerLostError: /job:worker/task:1 died: .*was in step 7")
    assert "JaxRuntimeError" in survivor.err or "ValueError" in survivor.err


@pytest.mark.parametrize("victim", [0])
def test_the_traceback_of_a_task_that_raises_reaches_everybody(victim):
    program = f"""
def mistake(step):
    if step == 10 and cluster.process_index == {victim}:
        raise KeyError("the user's own mistake")
train(10**6, mistake)
"""
    results = run_tasks(2, TRAIN + PATIENT + program)
    assert results[victim].code == 1
    assert "PeerLostError" not in results[victim].err
    survivor = results[1 - victim]
    assert_lost(survivor, rf"PeerLostError: /job:worker/task:{victim} raised KeyError.*\(last step 9, ")
    assert re.search(
        r"Its traceback:\n(.*\n)+.*in mistake\n(.*\n)+KeyError: \"the user's own mistake\"", survivor.err
    )


@pytest.mark.parametrize("victim", [0])
def test_a_task_that_leaves_in_mid_training_takes_the_others_along(victim):
    program = f"""
def leave(step):
    if step == 10 and cluster.process_index == {victim}:
        sys.exit(0)
train(10**6, leave)
"""
    results = run_tasks(2, TRAIN + program)
    pattern = rf"/job:worker/task:{victim} left the program after step 9 while others were training"
    assert results[victim].code == 70
    assert re.search(pattern, results[victim].err)
    assert_lost(results[1 - victim], pattern)


@pytest.mark.parametrize("victim", [0, 1])
def test_a_task_that_is_stopped_is_named_with_its_last_step(victim):
    program = f"""
def tell(step):
    if step == 60 and cluster.process_index == {victim}:
        wait_until_heard({victim}, 59)
        os.kill(os.getpid(), signal.SIGSTOP)
train(10**6, tell)
"""
    with tasks(2, TRAIN + program, variables=SHORT_SILENCE) as running:
        (survivor,) = running.wait(only=[1 - victim])
    assert_lost(survivor, rf"/job:worker/task:{victim} sent no heartbeat .*\(last step 59, .*was in step 60")


@pytest.mark.parametrize("victim", [0])
def test_a_task_that_is_stuck_in_its_own_code_is_named_and_shows_where(victim):
    program = f"""
def stuck(step):
    if step == 10 and cluster.process_index == {victim}:
        time.sleep(1000)
train(10**6, stuck)
"""
    results = run_tasks(2, TRAIN + program, variables=SHORT_STEP)
    pattern = rf"/job:worker/task:{victim} made no progress for the 2.5 s .*\(last step 9, phase 'idle'"
    assert_lost(results[1 - victim], pattern)
    assert results[victim].code == 202
    assert re.search(r"Its main thread is at:\n(.*\n)+.*in stuck\n.*\n.*202 \(STALLED\)", results[victim].err)


def test_waiting_for_a_task_that_compiles_evaluates_or_saves_is_no_stall():
    program = """
def long_work(step):
    if step == 3 and cluster.is_chief:
        for name in ("compiling", "evaluating", "saving"):
            with phase(name):
                time.sleep(2)
train(6, long_work)
"""
    results = run_tasks(2, TRAIN + program, variables={"TEST_LIMITS": '{"step_timeout": 1.5}'})
    assert [result.code for result in results] == [0, 0], results


def test_a_wait_names_the_missing_task_and_a_later_one_succeeds():
    program = """
from stratax.errors import ClusterTimeoutError
if cluster.is_chief:
    try:
        cluster.barrier("first", timeout=0.3)
    except ClusterTimeoutError as error:
        report(message=str(error), tasks=error.tasks)
    print("LATER", flush=True)
cluster.barrier("second")
report(values=[value.decode() for value in cluster.all_gather("x", b"%d" % cluster.process_index)])
"""
    results = run_tasks(2, CONNECT + program)
    assert [result.code for result in results] == [0, 0], results
    assert results[0].report["tasks"] == ["/job:worker/task:1"]
    assert "Missing: /job:worker/task:1. This task is /job:worker/task:0." in results[0].report["message"]
    assert results[1].report["values"] == ["0", "1"]


def test_a_wait_ends_when_another_task_dies_and_nothing_works_afterwards():
    program = """
from stratax.errors import PeerLostError
if cluster.process_index == 1:
    os.kill(os.getpid(), signal.SIGKILL)
began = time.monotonic()
calls = [lambda: cluster.barrier("x"), lambda: cluster.barrier("y"), cluster.check, phase("step").__enter__]
for call in calls:
    try:
        call()
    except PeerLostError as error:
        report(**{f"tasks{time.monotonic()}": error.tasks})
report(seconds=time.monotonic() - began)
"""
    survivor, _ = run_tasks(2, CONNECT + program)
    assert survivor.code == 0, survivor
    assert [list(each.values()) for each in survivor.reports[:4]] == [[["/job:worker/task:1"]]] * 4
    assert survivor.report["seconds"] < 30


def test_a_program_that_does_not_listen_is_ended():
    """A program in its own code can't be reached by an exception, and would work on for nothing."""
    program = """
if cluster.process_index == 1:
    os._exit(7)
time.sleep(1000)
"""
    survivor, victim = run_tasks(2, CONNECT + program)
    assert victim.code == 7
    assert_lost(survivor, "/job:worker/task:1 died: .*before its first step")


def test_tasks_that_end_at_different_times_wait_for_one_another_and_leave_with_their_codes():
    program = """
time.sleep(2 * cluster.process_index)
sys.exit(cluster.process_index * 3)
"""
    results = run_tasks(3, CONNECT + program)
    assert [result.code for result in results] == [0, 3, 6], results
    assert max(each.seconds for each in results) - min(each.seconds for each in results) < 2.5
    assert all(not result.err for result in results), results
