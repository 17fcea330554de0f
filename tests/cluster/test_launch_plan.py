"""What is to be started."""

import sys

import pytest

from stratax.cluster.launching import LaunchPlan, command_of
from stratax.errors import BadArgumentError


def test_the_tasks_stand_in_order():
    plan = LaunchPlan(command=("python",), workers=2, chief=True, evaluator=True, ps=1)
    assert plan.tasks() == [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0), ("evaluator", 0)]
    assert LaunchPlan(command=("python",), workers=0, chief=True).tasks() == [("chief", 0)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 0}, "workers must be at least 1"),
        ({"workers": -1, "chief": True}, "workers must be at least 0"),
        ({"ps": -1}, "ps must be at least 0"),
        ({"restarts": -1}, "restarts must be at least 0"),
        ({"grace": -0.5}, "grace must be at least 0"),
        ({"devices_per_worker": 0}, "devices_per_worker must be at least 1"),
        ({"timeout": 0}, "timeout must be positive"),
        ({"timeout": float("nan")}, "timeout must be positive"),
        ({"command": ()}, "no program to start"),
    ],
)
def test_wrong_plans_are_refused(changes, message):
    with pytest.raises(BadArgumentError, match=message):
        LaunchPlan(**{"command": ("python",), **changes})


def test_a_command_runs_a_file_or_a_module(tmp_path):
    program = tmp_path / "train.py"
    program.touch()
    assert command_of(str(program), ("--epochs", "3"), is_module=False) == (
        sys.executable,
        str(program),
        "--epochs",
        "3",
    )
    assert command_of("jobs.train", (), is_module=True) == (sys.executable, "-m", "jobs.train")
    with pytest.raises(BadArgumentError, match="There is no such program"):
        command_of(str(tmp_path / "missing.py"), (), is_module=False)
