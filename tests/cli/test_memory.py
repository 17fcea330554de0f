import os
import subprocess
import sys

import pytest

from stratax.cli import _memory


def test_a_block_ends_where_there_is_memory_enough():
    with _memory.end_with("no"):
        pass
    assert _memory._bytes_left() is None or _memory._bytes_left() > 0


@pytest.mark.processes
def test_a_process_that_uses_up_the_memory_ends_with_a_message():
    program = (
        "import time\n"
        "from stratax.cli import _memory\n"
        "_memory._bytes_left = lambda: 0\n"
        "with _memory.end_with('It is too large.'):\n"
        "    time.sleep(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 1
    assert done.stderr == "Error: It is too large. 0.0 GiB are left.\n"


def test_nothing_is_watched_where_the_system_does_not_tell(monkeypatch, tmp_path):
    monkeypatch.setattr(_memory, "_TABLE", tmp_path / "none")
    assert _memory._bytes_left() is None
    with _memory.end_with("no"):
        pass
