import pytest

from stratax.data.workers import reason_of_death


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("A worker died. The exit codes of the workers are {SIGKILL(-9)}", "exit code SIGKILL(-9)"),
        ("The exit code of the worker is {EXIT(3)}", "exit code EXIT(3)"),
        ("It is gone.", "RuntimeError"),
    ],
)
def test_the_reason_of_a_death_is_its_exit_code_where_that_is_known(message, reason):
    assert reason_of_death(RuntimeError(message)) == reason
