"""`stratax launch` as a user calls it."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.cli import command

pytestmark = pytest.mark.processes


@pytest.fixture
def launch(tmp_path):
    """Runs the command on a program; gives its exit code, and the bytes that it wrote to both outputs."""

    def run(source, *options, stdout=subprocess.PIPE, **variables):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        done = subprocess.run(
            [sys.executable, "-m", "stratax.cli", "launch", *options, str(program)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env={**os.environ, "STRATAX_SIMULATE": "", **variables},
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_every_line_has_its_tasks_name_before_it(launch):
    code, out, err = launch("import sys; print('well'); sys.exit('not well')", "--workers", "1", "--chief")
    assert code == 1
    assert sorted(out.splitlines()) == [b"[chief 0]  well", b"[worker 0] well"]
    assert b"[chief 0]  not well\n" in err


@pytest.mark.programs
def test_tasks_that_say_import_tensorflow_are_run_as_they_are(launch):
    program = "import os, tensorflow as tf; print(tf.__name__, 'worker' in os.environ['TF_CONFIG'])"
    assert launch(program, "--as-tensorflow") == (0, b"[worker 0] stratax.tf True\n", b"")


def test_on_a_terminal_every_task_has_a_colour_of_its_own(launch):
    terminal, stdout = os.openpty()
    try:
        assert launch("print('well')", "--workers", "2", stdout=stdout)[0] == 0
        shown = b""
        while shown.count(b"\n") < 2:  # A terminal hands on what it gets bit by bit.
            shown += os.read(terminal, 1000)
    finally:
        os.close(stdout)
        os.close(terminal)
    assert sorted(shown.splitlines()) == [
        b"\x1b[32m[worker 1]\x1b[0m well",
        b"\x1b[36m[worker 0]\x1b[0m well",
    ]


def test_the_command_names_who_failed_first_and_shows_the_traceback_last(launch):
    code, _, err = launch("def f():\n    raise ValueError('on purpose')\nf()")
    assert code == 1
    assert (
        b"stratax: worker 0 failed first, with exit code 1 (USER_ERROR). What it wrote last:\n  Traceback"
        in err
    )
    assert err.endswith(b"\n  ValueError: on purpose\n")


def test_of_a_task_that_said_nothing_nothing_is_shown(launch):
    code, _, err = launch("import os; os.kill(os.getpid(), 9)")
    assert code == 137
    assert err == b"stratax: worker 0 failed first, with exit code 137 (killed by SIGKILL).\n"


def test_a_run_that_takes_too_long_says_so(launch):
    code, _, err = launch("import time; time.sleep(100)", "--timeout", "1")
    assert code == 124
    assert (
        err
        == b"stratax: The run took longer than --timeout allows; all tasks were ended. exit code 124 (took too long).\n"
    )


def test_what_the_terminal_can_not_write_is_written_in_another_way(launch):
    program = "import os; os.write(1, 'é €\\n'.encode()); os.write(1, b'on\\n')"
    code, out, _ = launch(program, PYTHONIOENCODING="latin-1")
    assert (code, out) == (0, b"[worker 0] \xe9 \\u20ac\n[worker 0] on\n")


def test_when_nobody_reads_on_the_run_ends_without_a_word(launch):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        code, _, err = launch("import time; print('a line', flush=True); time.sleep(100)", stdout=writer)
    finally:
        os.close(writer)
    assert (code, err) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device is Linux'")
def test_when_the_output_can_not_be_written_the_run_ends_and_says_so(launch):
    with open("/dev/full", "wb") as full:
        code, _, err = launch("import time; print('a line', flush=True); time.sleep(100)", stdout=full)
    assert code == 1
    assert b"Error: The tasks' output can't be written (No space left on device), so they are ended." in err


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--workers", "0"), 2, "workers must be at least 1"),
        (("--workers", "-1"), 2, "-1 is not in the range x>=0"),
        (("--restarts", "x"), 2, "'x' is not a valid integer"),
        (("--timeout", "0"), 2, "0.0 is not in the range x>0"),
        (("--log-dir", "/dev/null/logs"), 1, "can't be kept there"),
    ],
)
def test_a_wrong_call_is_explained(options, code, message, tmp_path, capsys):
    (tmp_path / "train.py").touch()
    assert command.run(["launch", *options, str(tmp_path / "train.py")]) == code
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_program_that_is_not_there_is_explained(tmp_path, capsys):
    assert command.run(["launch", str(tmp_path / "train.py")]) == 2
    assert "There is no such program" in capsys.readouterr().err
