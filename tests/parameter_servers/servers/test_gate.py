"""Steps wait while a state is marked, all but those that other servers have already."""

import threading

import numpy as np
import pytest

from stratax.errors import AbortedError
from stratax.parameter_servers.servers import Shards, _gate
from stratax.parameter_servers.servers._gate import Gate


def passing(gate, stream, name, servers=(0, 1)):
    """Have a step pass in a thread; return an event that says when it has."""
    passed = threading.Event()

    def work():
        with gate.step(stream, name, servers):
            passed.set()

    threading.Thread(target=work, daemon=True).start()
    return passed


def test_the_last_step_of_each_stream_is_told_and_others_wait():
    gate = Gate()
    for stream, name, servers in (
        ("a", "1", (0, 1)),
        ("a", "2", (0, 1)),
        ("b", "3", (0, 1)),
        ("c", "4", (0,)),
    ):
        assert passing(gate, stream, name, servers).wait(5)
    assert gate.hold("chief") == {"2": (0, 1), "3": (0, 1)}
    late, wanted = passing(gate, "a", "5"), passing(gate, "b", "6")
    assert gate.wait_for("chief", ["6"], 5) == []
    assert wanted.is_set()
    assert not late.wait(0.1)
    assert gate.release("chief")
    assert late.wait(5)


def test_a_step_that_does_not_come_is_told_and_given_up():
    gate = Gate()
    assert passing(gate, "a", "1").wait(5)
    assert gate.hold("chief") == {"1": (0, 1)}
    assert gate.wait_for("chief", ["2"], 0.05) == ["2"]
    gate.forget(["1"])
    gate.release("chief")
    assert gate.hold("chief") == {}


def test_a_step_that_comes_over_another_stream_is_that_streams():
    gate = Gate()
    for stream, name in (("dead", "1"), ("alive", "1"), ("alive", "2")):
        assert passing(gate, stream, name).wait(5)
    assert gate.hold("chief") == {"2": (0, 1)}


def test_steps_go_on_when_who_holds_them_is_gone_or_stands_still(monkeypatch):
    gate = Gate()
    gate.hold("chief")
    waiting = passing(gate, "a", "1")
    assert not gate.release("another")
    assert not waiting.wait(0.1)
    assert gate.release("chief")
    assert waiting.wait(5)
    monkeypatch.setattr(_gate, "MOST_HELD_SECONDS", 0.2)
    gate.hold("chief")
    assert passing(gate, "a", "2").wait(5)
    with pytest.raises(AbortedError, match="not held back any more"):
        gate.wait_for("chief", [], 1.0)
    assert not gate.release("chief")


def test_what_is_marked_stays_as_it_was():
    shards = Shards()
    shards.create("w", np.zeros(2, "float32"))
    shards.mark("first")
    shards.assign(["w"], [np.ones(2, "float32")])
    shards.create("later", np.full(1, 7.0, "float32"))
    with shards.reading(["w", "later"], {}, "first") as (_, arrays):
        assert [array.tolist() for array in arrays.values()] == [[0.0, 0.0], [7.0]]
    with shards.reading(["w"], {}) as (_, arrays):
        assert arrays["w"].tolist() == [1.0, 1.0]
    shards.unmark("first")
    assert shards.marks == []
    with (
        pytest.raises(AbortedError, match="was marked to be read is gone"),
        shards.reading(["w"], {}, "first"),
    ):
        pass
