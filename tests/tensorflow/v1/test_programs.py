"""A program that names sessions is one of graphs from where it says that it is TensorFlow 1's."""

import subprocess
import sys

import pytest

PROGRAM = """
import stratax.tf.compat.v1 as tf
tf.{switch}()
state = tf.Variable(0, name="counter")
update = tf.assign(state, tf.add(state, tf.constant(1)))
{rest}
"""
SESSION = """
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([update, update])[0], session.run(state))
"""


@pytest.mark.parametrize(
    ("switch", "rest", "printed"),
    [
        ("disable_eager_execution", SESSION, "1 1"),
        ("disable_v2_behavior", SESSION, "1 1"),
        ("disable_v2_behavior", "# No Session()\nprint(int(state), int(update))", "1 1"),
    ],
)
def test_a_program_with_sessions_builds_a_graph_and_one_without_computes(tmp_path, switch, rest, printed):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(switch=switch, rest=rest))
    found = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.stdout.split("\n")[0] == printed, found.stderr
