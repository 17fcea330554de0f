"""A program that names sessions is one of graphs from where it says that it is TensorFlow 1's."""

import subprocess
import sys

import pytest

from stratax.tensorflow.v1 import programs

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


@pytest.mark.parametrize(
    ("source", "configures"),
    [
        ("K.set_session(tf.Session(config=config))", True),
        ("sess = tf.Session()\nset_session(sess)\nsess.run(tf.global_variables_initializer())", True),
        (
            "sess = tf.Session()\nset_session(sess)\nsess.run(tf.global_variables_initializer())\nsess.run(x)",
            False,
        ),
        ("session = InteractiveSession(config=config)", True),
        ("session = InteractiveSession(config=config)\nx.eval()\nsession.run(x)", False),
        ("def make():\n    return tf.Session()\nset_session(make())", True),
        ("def make():\n    return tf.Session()", False),
        ("def make():\n    return tf.Session()\nset_session(make())\nmake().run(x)", False),
        ("sess = K.get_session()\nfreeze(sess)", False),
        ("with tf.Session() as sess:\n    fit()", False),
        ("x = tf.placeholder(tf.float32)\nset_session(tf.Session())", False),
        ("self.sess = tf.Session()", False),
        ("model.fit(x)", False),
        ("tf.Session(", False),
    ],
)
def test_a_session_may_be_there_for_its_settings_alone(source, configures):
    assert programs.only_configures(source) is configures
