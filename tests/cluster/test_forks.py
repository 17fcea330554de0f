"""A fork does what a process does that starts from nothing."""

import signal
import subprocess

import pytest

from tests.cluster import forks

pytestmark = pytest.mark.processes

STATE = """
import os, random, sys, threading
import numpy as np
from jax._src import xla_bridge
print(hash("a"), random.random(), np.random.random(), sep="|", end="|")
print(xla_bridge.backends_are_initialized(), threading.active_count(), end=" ")
print("stratax" in sys.modules, os.getsid(0) == os.getpid())
"""


def test_forks_share_neither_random_numbers_nor_hashes_nor_a_backend():
    printed = [forks.run(["-c", STATE], forks.environment_of_a_task()).stdout.split("|") for _ in range(3)]
    hashes, numbers, numpys, rest = map(set, zip(*printed, strict=True))
    assert len(hashes) == 2
    assert len(numbers) == len(numpys) == 3
    assert rest == {"False 1 False True\n"}


def test_a_program_has_its_arguments_folder_and_environment_and_ends_as_it_says(tmp_path):
    (tmp_path / "beside.py").write_text("name = 'beside'")
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, os, sys, beside\n"
        "atexit.register(print, 'at exit')\n"
        "print(sys.argv[1:], __file__ == sys.argv[0], __name__, os.getcwd(), os.environ['MINE'], beside.name)\n"
        "sys.exit(7)\n"
    )
    environment = forks.environment_of_a_task() | {"MINE": "yes"}
    done = forks.run([program, "a", "b c"], environment, cwd=tmp_path)
    assert done.stdout == f"['a', 'b c'] True __main__ {tmp_path} yes beside\nat exit\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_an_error_is_shown_and_passed_to_the_hook():
    program = "import sys\nsys.excepthook = lambda *error: print('hook', error[1])\n1 / 0"
    done = forks.run(["-c", program], forks.environment_of_a_task())
    assert (done.returncode, done.stdout) == (1, "hook division by zero\n")


def test_a_module_runs_as_the_main_one():
    done = forks.run(["-m", "json.tool", "--help"], forks.environment_of_a_task())
    assert done.returncode == 0
    assert "json" in done.stdout.splitlines()[0]


def test_a_fork_is_signalled_and_waited_for(tmp_path):
    process = forks.start(
        ["-c", "import time; time.sleep(600)"],
        forks.environment_of_a_task(),
        tmp_path,
        tmp_path / "out",
        tmp_path / "err",
    )
    assert isinstance(process, forks.Fork)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM
    process.send_signal(signal.SIGTERM)


def test_a_program_that_takes_too_long_is_ended():
    with pytest.raises(subprocess.TimeoutExpired):
        forks.run(["-c", "import time; time.sleep(600)"], forks.environment_of_a_task(), timeout=0.5)


@pytest.mark.parametrize("setting", [{"JAX_ENABLE_X64": "1"}, {"KERAS_HOME": "/nowhere"}])
def test_what_is_read_at_import_is_read_by_a_process_of_its_own(setting, tmp_path):
    environment = forks.environment_of_a_task() | setting
    process = forks.start(["-c", "pass"], environment, tmp_path, tmp_path / "out", tmp_path / "err")
    assert isinstance(process, subprocess.Popen)
    assert process.wait() == 0
