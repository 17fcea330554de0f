"""`CheckpointSaverHook` saves through the session, a saver or a scaffold, at the same steps in all workers."""

import types

import pytest

from stratax import cluster, errors
from stratax.tensorflow.estimator import CheckpointSaverHook, CheckpointSaverListener
from stratax.tensorflow.estimator.hooks import _timer
from tests.tensorflow.estimator.hooks import loop


class Saver:
    def __init__(self):
        self.saved = []

    def save(self, session, path, global_step):
        self.saved.append((path, global_step))


@pytest.mark.parametrize(("steps", "saved"), [(1, [0, 10, 20, 25]), (7, [0, 14, 28, 42, 56, 70, 84])])
def test_it_saves_at_the_beginning_every_so_many_steps_and_at_the_end(steps, saved):
    session = loop.run([CheckpointSaverHook("there", save_steps=10)], 25 if steps == 1 else 12, steps)
    assert session.saved == [f"there/model.ckpt-{step}" for step in saved]


def test_a_second_run_begins_anew():
    hook = CheckpointSaverHook("there", save_steps=10, checkpoint_basename="m")
    assert loop.run([hook], 3).saved == ["there/m-0", "there/m-3"]
    assert loop.run([hook], 0, session=loop.Session(3)).saved == ["there/m-3"]


def test_a_saver_or_the_one_of_a_scaffold_saves_instead():
    saver = Saver()
    assert loop.run([CheckpointSaverHook("a", save_steps=5, saver=saver)], 5).saved == []
    assert saver.saved == [("a/model.ckpt", 0), ("a/model.ckpt", 5)]
    scaffold = types.SimpleNamespace(saver=None)
    assert len(loop.run([CheckpointSaverHook("a", save_steps=5, scaffold=scaffold)], 5).saved) == 2
    scaffold.saver = Saver()
    assert loop.run([CheckpointSaverHook("a", save_steps=5, scaffold=scaffold)], 5).saved == []
    assert len(scaffold.saver.saved) == 2


def test_all_listeners_are_told_whatever_the_first_one_wants():
    told = []

    class Listener(CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            told.append(self)
            return global_step_value == 2

    listeners = [Listener(), Listener()]
    hook = CheckpointSaverHook("a", save_steps=2, listeners=listeners)
    assert loop.run([hook], 9).global_step == 2
    assert told == listeners * 2


class Cluster:
    """Two workers in one process, in step: what one asks for comes two steps later."""

    def __init__(self):
        self.is_chief = True
        self.asked = {}
        self.questions = []

    def request_stop(self, reason, *, name):
        assert self.is_chief
        self.asked.setdefault(name, self.questions[-1][0] + 2)

    def agree_on_stop(self, step, *, name):
        self.questions.append((step, name))
        return name in self.asked and step >= self.asked[name]


@pytest.mark.parametrize("steps", [1, 7])
def test_by_seconds_the_chief_decides_for_all(monkeypatch, steps):
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(_timer, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    connected = Cluster()
    connected.questions.append((0, ""))
    monkeypatch.setattr(cluster, "current", lambda: connected)
    # The names are counted in each worker alike.
    monkeypatch.setattr("stratax.tensorflow.estimator.hooks._rounds._numbers", iter([1, 1]))

    def passed(session):
        clock.now += 1.0 if session.is_chief else 0.0
        connected.is_chief = session.is_chief

    hook = CheckpointSaverHook("a", save_secs=4)
    first = loop.run([hook], 12, steps, on_dispatch=passed)
    questions = connected.questions[1:]
    # The other worker's clock stands still.
    connected.questions = [(0, "")]
    other = loop.Session(is_chief=False)
    second = loop.run([CheckpointSaverHook("a", save_secs=4)], 12, steps, other, on_dispatch=passed)
    assert second.saved == first.saved
    assert connected.questions[1:] == questions
    assert len(first.saved) > 3


def test_what_is_wrong_is_told():
    with pytest.raises(errors.BadArgumentError, match="Exactly one of every_secs and every_steps"):
        CheckpointSaverHook("a")
    with pytest.raises(errors.BadArgumentError, match="saver and scaffold can't both be given"):
        CheckpointSaverHook("a", save_steps=1, saver=Saver(), scaffold=object())
    with pytest.raises(
        errors.BadTypeError, match="saving_listeners must be CheckpointSaverListener instances"
    ):
        CheckpointSaverHook("a", save_steps=1, listeners=[3])
