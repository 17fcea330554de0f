"""No step is staler than its bound, whoever is slow, and nobody waits for ever."""

import threading
import time

import numpy as np
import pytest

from stratax.parameter_servers.servers._turns import StepTurns


def run(turns, name, steps, bound, seconds):
    """Make steps one after another, each of which takes some time."""
    for number in range(steps):
        step = f"{name}/{number}"
        turns.begin(step, name, bound)
        turns.note_pull(name)
        time.sleep(seconds())
        assert turns.claim(step)
        turns.note_push(name)
        turns.end(step)


@pytest.mark.parametrize("bound", [0, 1, 2, 5])
def test_no_step_is_staler_than_the_bound(bound):
    turns, random = StepTurns(), np.random.default_rng(bound)
    speeds = [0.0005, 0.002, 0.006]
    tasks = [
        threading.Thread(
            target=run,
            args=(turns, f"worker {index}", 20, bound, lambda speed=speed: random.uniform(0, speed)),
        )
        for index, speed in enumerate(speeds)
    ]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join(30)
        assert not task.is_alive()
    assert sum(turns.staleness.values()) == 60
    assert max(turns.staleness) <= bound
    # The bound is used, not stayed far below.
    if bound in (1, 2):
        assert max(turns.staleness) == bound


def begun(turns, step, stream, bound):
    """Begin a step in another thread; whether it could within a while."""
    task = threading.Thread(target=turns.begin, args=(step, stream, bound), daemon=True)
    task.start()
    task.join(0.3)
    return not task.is_alive()


def test_a_step_waits_until_the_one_that_runs_has_pushed():
    turns = StepTurns()
    turns.begin("a", "worker 0", bound=0)
    assert not begun(turns, "b", "worker 1", 0)
    assert turns.claim("a")
    turns.end("a")
    # That of worker 1 runs now.
    assert not begun(turns, "c", "worker 2", 0)
    assert turns.claim("b")
    turns.end("b")


def test_what_a_lost_task_has_begun_holds_nobody_back():
    turns = StepTurns()
    turns.begin("a", "worker 0", bound=0)
    turns.stream_ended("worker 0")
    assert begun(turns, "b", "worker 1", 0)
    assert not turns.claim("a")
    assert turns.claim("b")


def test_a_step_that_stands_still_is_given_up_and_may_not_push(monkeypatch, caplog):
    monkeypatch.setattr("stratax.parameter_servers.servers._turns.LEAST_PATIENCE_SECONDS", 0.2)
    turns = StepTurns()
    turns.begin("a", "worker 0", bound=0)
    time.sleep(0.25)
    turns.begin("b", "worker 1", bound=0)
    assert "others go on without it" in caplog.text
    assert not turns.claim("a")
    assert turns.claim("b")
