"""A started task: what it writes is shown and kept, whatever it is, and read to the end whatever happens."""

import os
import signal
import sys
import textwrap
import time

import pytest

from stratax.cluster import _task
from stratax.cluster._task import start_task
from stratax.errors import FileAccessError

pytestmark = pytest.mark.processes


class Screen:
    """Keeps what it is shown and told; may be full after so many lines."""

    def __init__(self, room=10**9):
        self.lines, self.told, self._room = [], [], room

    def show(self, name, line, is_error):
        if len(self.lines) == self._room:
            raise OSError(28, "No space left on device")
        self.lines.append((name, line, is_error))

    def tell(self, message):
        self.told.append(message)

    def out(self):
        return [line for _, line, is_error in self.lines if not is_error]


@pytest.fixture
def ended():
    """Runs a program as a task to its end."""

    def run(source, screen, log_dir=None):
        command = (sys.executable, "-c", "import os, sys, time\n" + textwrap.dedent(source))
        task = start_task("worker", 1, command, dict(os.environ), screen, log_dir)
        try:
            task.process.wait(60)
            task.finish_reading(60, time.monotonic() + 60)
        finally:
            task.kill()
        task.look()
        return task

    return run


def test_lines_come_whole_however_they_are_written(ended):
    screen = Screen()
    task = ended(
        r"""
        for piece in (b"one ", b"line\n", b"\n", b"caf\xc3", b"\xa9\r\n", b"no \xff text \0\n", b"no end"):
            os.write(1, piece)
            time.sleep(0.05)
        os.write(2, b"an error")
        sys.exit(3)
        """,
        screen,
    )
    assert screen.out() == ["one line", "", "café", "no � text \0", "no end"]
    assert ("worker 1", "an error", True) in screen.lines
    assert (list(task.last_lines), task.has_failed, task.process.returncode) == (["an error"], True, 3)


def test_of_a_progress_bar_the_last_state_is_shown(ended):
    screen = Screen()
    ended(r"os.write(1, b'10%\r20%\r100%\n'); os.write(1, b'epoch\b\b\n')", screen)
    assert screen.out() == ["100%", "epoch"]


def test_a_very_long_line_is_shown_in_pieces(ended, monkeypatch):
    monkeypatch.setattr(_task, "_LONGEST_LINE", 1001)
    screen = Screen()
    ended("os.write(1, 'é'.encode() * 1500 + b'\\nnext\\n')", screen)
    assert screen.out() == ["é" * 500, "é" * 501, "é" * 499, "next"]


def test_output_is_kept_in_files_as_it_came_of_one_start_after_the_other(ended, tmp_path):
    for number in range(2):
        ended(rf"os.write(1, b'{number}\r\xff\n'); os.write(2, b'no end')", Screen(), tmp_path / "a" / "logs")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "a" / "logs").iterdir()}
    assert kept == {"worker-1.out": b"0\r\xff\n1\r\xff\n", "worker-1.err": b"no endno end"}


def test_a_task_that_can_not_be_shown_or_kept_any_more_is_not_held_up(ended, tmp_path):
    """Its output is more than a pipe holds: whoever stopped reading would stop the task."""
    (tmp_path / "worker-1.out").symlink_to("/dev/full")
    screen = Screen(room=2)
    task = ended("for _ in range(300): os.write(1, b'x' * 1023 + b'\\n')", screen, tmp_path)
    assert task.process.returncode == 0
    assert len(screen.lines) == 2
    assert "No space left" in str(task.unshown)
    assert screen.told == ["The output of worker 1 is not kept any more: [Errno 28] No space left on device."]


def test_what_holds_the_output_open_is_waited_for_only_while_something_comes():
    """A process that the task started and that is no part of its group any more."""
    child = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    program = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r}], start_new_session=True)"
    )
    screen = Screen()
    task = start_task("worker", 1, (sys.executable, "-c", program), dict(os.environ), screen)
    deadline = time.monotonic() + 60
    try:
        while not screen.lines and time.monotonic() < deadline:
            time.sleep(0.01)
        task.process.wait(60)
        task.finish_reading(0.2, time.monotonic() + 600)
    finally:
        task.kill()
        os.kill(int(screen.out()[0]), signal.SIGKILL)


def test_a_slow_screen_gets_all_lines():
    class Slow(Screen):
        def show(self, name, line, is_error):
            time.sleep(0.15)
            super().show(name, line, is_error=is_error)

    screen = Slow()
    task = start_task(
        "worker", 1, (sys.executable, "-c", "for n in range(20): print(n)"), dict(os.environ), screen
    )
    task.process.wait(60)
    task.finish_reading(2.0, time.monotonic() + 60)
    assert screen.out() == [str(n) for n in range(20)]


def test_a_folder_for_output_that_can_not_be_is_refused_before_anything_starts(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileAccessError, match="can't be kept there.*Give a folder.*log_dir="):
        start_task("worker", 0, (sys.executable, "-c", ""), {}, Screen(), tmp_path / "file" / "logs")


def test_modules_beside_the_script_that_starts_it_do_not_take_the_place_of_pythons(
    ended, tmp_path, monkeypatch
):
    script = tmp_path / "_end_with_parent.py"
    script.write_text(_task._WRAPPER.read_text())
    (tmp_path / "ctypes.py").write_text("raise RuntimeError")
    monkeypatch.setattr(_task, "_WRAPPER", script)
    screen = Screen()
    ended("print('well')", screen)
    assert screen.lines == [("worker 1", "well", False)]
