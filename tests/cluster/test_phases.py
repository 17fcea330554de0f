"""Phases: what this task says that it is doing, and what a phase does when another task is lost."""

import contextlib
import json
import threading
import time

import jax.numpy as jnp
import numpy as np
import pytest

from stratax.cluster import _phases, phase
from stratax.cluster._phases import Progress
from stratax.errors import BadArgumentError, BadTypeError, PeerLostError


@pytest.fixture(autouse=True)
def progress(monkeypatch):
    """The progress of a program that has just begun."""
    fresh = Progress()
    monkeypatch.setattr(_phases, "progress", fresh)
    return fresh


class LostPeer:
    """A guard that knows of a lost task as soon as `lost` is set."""

    def __init__(self, lost=False):
        self.lost = lost

    def check(self):
        if self.lost:
            raise PeerLostError("known before")

    def peer_error(self, error):
        return PeerLostError("known now") if "gloo" in str(error) else None


def test_phases_nest_and_the_last_step_is_kept(progress):
    with phase("step", step=7):
        assert (progress.phase, progress.step, progress.last_step) == ("step", 7, 7)
        with phase("compiling"):
            assert progress.heartbeat() == {
                "phase": "compiling",
                "step": None,
                "last": 7,
                "age": 0.0,
                "waits_for": None,
            }
        assert (progress.phase, progress.step) == ("step", 7)
    assert (progress.phase, progress.step, progress.last_step) == ("idle", None, 7)


def test_a_phase_ends_with_an_exception_which_stays_as_it_is(progress):
    progress.guard = LostPeer()
    with pytest.raises(KeyError), phase("saving"):
        raise KeyError("mine")
    assert progress.phase == "idle"


def test_other_threads_do_not_count(progress):
    seen = []

    def work():
        with phase("input"):
            seen.append(progress.phase)

    with phase("step", step=1):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == ["step"]


def test_a_broken_collective_becomes_the_error_that_names_the_task(progress):
    progress.guard = LostPeer()
    with pytest.raises(PeerLostError, match="known now") as caught, phase("step", step=1):
        raise ValueError("gloo: connection reset by peer")
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_phase_is_not_entered_after_a_loss(progress):
    progress.guard = LostPeer(lost=True)
    with pytest.raises(PeerLostError, match="known before"), phase("step", step=1):
        pytest.fail("entered")
    assert progress.last_step is None


@pytest.mark.parametrize("step", [np.int64(7), np.array(7, np.uint8), jnp.int32(7)])
def test_a_steps_number_can_be_any_kind_of_integer(progress, step):
    with phase("step", step=step):
        assert json.loads(json.dumps(progress.heartbeat()))["step"] == 7


@pytest.mark.parametrize("step", [1.0, "1", np.zeros(2)])
def test_a_steps_number_must_be_an_integer(step):
    with pytest.raises(BadTypeError, match="step's number must be an integer.*step="):
        phase("step", step=step)


def test_an_unknown_phase_is_refused():
    with pytest.raises(BadArgumentError, match="one of idle, input.*name='lunch'"):
        phase("lunch")


def test_a_phase_costs_no_more_than_a_few_blocks_that_do_nothing(progress):
    progress.guard = LostPeer()

    @contextlib.contextmanager
    def nothing(name, *, step):
        yield

    def once(block):
        began = time.perf_counter()
        for step in range(10_000):
            with block("step", step=step):
                pass
        return time.perf_counter() - began

    ours, theirs = zip(*((once(phase), once(nothing)) for _ in range(7)), strict=True)
    assert min(ours) < 4 * min(theirs)


def test_a_wait_for_the_others_is_a_step_that_says_what_it_is_for(progress):
    with phase("step", step=7):
        pass
    with phase("saving"), _phases.waiting("the end of a loop"):
        heartbeat = progress.heartbeat()
    assert (heartbeat["phase"], heartbeat["step"], heartbeat["waits_for"]) == ("step", 7, "the end of a loop")
    assert progress.heartbeat()["waits_for"] is None


class Pending:
    def is_ready(self):
        return False


@pytest.mark.parametrize(
    ("name", "told"), [("evaluating", "step"), ("saving", "step"), ("compiling", "compiling")]
)
def test_who_waits_for_the_devices_is_in_a_step_in_any_phase_but_compiling(progress, name, told):
    progress.result = (Pending(), time.monotonic())
    with phase(name):
        assert progress.heartbeat()["phase"] == told
