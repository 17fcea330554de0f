"""`stratax run`: what can't be run is said by the command, all else is Python's."""

import sys

import pytest

from stratax.cli import _run
from tests.cli import command


def test_a_program_that_is_not_there_is_explained(tmp_path, capsys):
    assert command.run(["run", str(tmp_path / "train.py"), "--epochs", "3"]) == 2
    assert "There is no such program. Expected: a Python file" in capsys.readouterr().err


@pytest.mark.parametrize("program", [["-m", "train"], ["-c", "1"], ["-"], ["-u", "train.py"], ["."]])
def test_what_python_takes_is_handed_to_it_as_it_is(program, monkeypatch):
    calls = []
    monkeypatch.setattr(_run.os, "execve", lambda *call: calls.append(call))
    assert command.run(["run", *program]) == 0
    assert [call[:2] for call in calls] == [(sys.executable, [sys.executable, *program])]
