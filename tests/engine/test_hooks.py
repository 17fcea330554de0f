"""Hooks of a loop: called at the joints, in their order, and told of errors."""

import pytest

from stratax import engine
from tests.engine.test_loop import Recorder


def test_hooks_are_called_at_the_joints_in_their_order(training):
    recorder = Recorder()
    training.loop(steps_per_dispatch=4, hooks=[recorder]).run(training.input)
    assert recorder.calls == [
        ("begin", 0),
        *[("before", 0, 4), ("after", 4, 4)],
        *[("before", 4, 1), ("after", 5, 1)],
        *[("before", 5, 1), ("after", 6, 1)],
        ("end of pass", 6, 1),
        ("end", 6),
    ]


def test_a_method_that_is_not_overridden_is_not_called(training, monkeypatch):
    def fail(*_):
        raise AssertionError("called")

    monkeypatch.setattr(engine.Hook, "after_dispatch", fail)
    loop = training.loop(hooks=[engine.Hook()])
    loop.run(training.input, until=2)
    assert loop.step == 2


def test_an_error_reaches_all_hooks_and_comes_through(training, caplog):
    class Fails(engine.Hook):
        def on_error(self, loop, error):
            raise ValueError("of the hook")

    class Raises(engine.Hook):
        def after_dispatch(self, loop, steps, outputs):
            raise KeyError("of the step")

    recorder = Recorder()
    with pytest.raises(KeyError, match="of the step"):
        training.loop(hooks=[Fails(), Raises(), recorder]).run(training.input)
    assert recorder.calls == [("begin", 0), ("before", 0, 1), ("on_error", "'of the step'")]
    assert "A hook failed in on_error" in caplog.text
