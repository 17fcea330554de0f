"""Modules that a program imports say shapes as with TensorFlow."""

import subprocess
import sys
import textwrap

import pytest

PART = '''
    """What it is for."""
    from __future__ import annotations

    import tensorflow as tf

    def tell(x):
        return "shape: %s" % x.shape

    class Layer:
        def tell(self, x):
            return "shape: %s" % (
                x.get_shape())

    def fail(x):
        raise ValueError("no shape: %s" % x.shape)
'''
MAIN = """
    import tensorflow as tf
    import part, other

    print(part.__doc__, part.tell(tf.zeros([2, 3])), part.Layer().tell(tf.zeros([4])), other.NUMBER)
    part.fail(tf.zeros([1]))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "part.py").write_text(textwrap.dedent(PART).strip())
    (tmp_path / "other.py").write_text("NUMBER = 7 % 4  # of no shape\n")
    (tmp_path / "main.py").write_text(textwrap.dedent(MAIN))
    return tmp_path


def test_a_module_is_read_so_and_its_lines_stay(program):
    command = [sys.executable, "-m", "stratax", "run", "main.py"]
    for _ in range(2):
        # The second time from Python's caches, in which nothing rewritten is.
        done = subprocess.run(command, cwd=program, capture_output=True, text=True, check=False)
        assert done.stdout == "What it is for. shape: (2, 3) shape: (4,) 3\n"
        assert "no shape: (1,)" in done.stderr
        assert 'part.py", line 15, in fail' in done.stderr
    assert not any("part" in file.name for file in (program / "__pycache__").glob("*"))


def test_a_module_that_can_not_be_read_says_so(program):
    (program / "other.py").write_text("shape = '%s' % x.shape)\n")
    done = subprocess.run(
        [sys.executable, "-m", "stratax", "run", "main.py"], cwd=program, capture_output=True, text=True
    )
    assert "SyntaxError" in done.stderr
    assert 'other.py", line 1' in done.stderr
