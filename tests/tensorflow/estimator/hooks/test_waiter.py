"""A worker that waits until the others have trained so far."""

import pytest

from stratax import errors
from stratax.tensorflow.estimator import GlobalStepWaiterHook
from stratax.tensorflow.estimator.hooks import _waiter
from tests.tensorflow.estimator.hooks import loop


@pytest.fixture
def clock(monkeypatch):
    """A clock that sleeping moves on."""

    class Clock:
        now = 0.0
        on_sleep = staticmethod(lambda: None)

        def monotonic(self):
            return self.now

        def sleep(self, seconds):
            self.now += seconds
            self.on_sleep()

    made = Clock()
    monkeypatch.setattr(_waiter, "time", made)
    return made


def test_a_worker_waits_for_the_others_steps(clock, caplog):
    caplog.set_level("INFO", "stratax")
    session = loop.Session(1)

    def others():
        session.global_step += 1000

    clock.on_sleep = others
    loop.run([GlobalStepWaiterHook(3000)], 2, session=session)
    assert clock.now == 1.5
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "Waiting for global step 3000 before starting training.",
        "Waiting for global step 3000 before starting training. Current step is 1001.",
    ]


def test_nothing_is_waited_for_where_the_step_is_reached(clock):
    loop.run([GlobalStepWaiterHook(0), GlobalStepWaiterHook(5)], 3, session=loop.Session(5))
    assert clock.now == 0


def test_a_wait_without_steps_ends(clock):
    with pytest.raises(
        errors.ClusterTimeoutError, match="waits for global step 9, and no step was made for 60 s"
    ):
        loop.run([GlobalStepWaiterHook(9, timeout_secs=60)], 1)
    assert clock.now == 60
