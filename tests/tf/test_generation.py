"""A program that asks for names of TensorFlow 1 gets its functions and shapes; one of TensorFlow 2 keeps those."""

import subprocess
import sys
import textwrap

import pytest

from stratax.tf import migration

_FIRST = """
import tensorflow as tf
from tensorflow import feature_column as columns, nn as old
assert not hasattr(tf.ones([2, 3]).shape[0], "value")
before = tf.nn.dropout, tf.reduce_sum
assert not hasattr(columns, "shared_embedding_columns")
tf.flags.DEFINE_integer("steps", 3, "")
x = tf.ones([2, 3])
assert x.shape[1].value == x.get_shape()[-1].value == 3 and [size.value for size in x.shape] == [2, 3]
assert str(x.shape[1]) == f"{x.shape[1]}" == "3" and x.shape[1] * 2 == 6
assert tf.reduce_sum(x, reduction_indices=[1], keep_dims=True).shape.as_list() == [2, 1]
# In TensorFlow 1 this is the chance to stay.
assert tf.nn.dropout(x, 1.0).tolist() == x.tolist() == tf.nn.dropout(x, keep_prob=1.0).tolist()
assert tf.losses.absolute_difference and tf.nn is tf.compat.v1.nn and tf.argmax([[1, 2]], dimension=1).tolist() == [1]
from tensorflow import nn
assert nn is tf.compat.v1.nn and before[0] is not nn.dropout
# Modules that were imported before have TensorFlow 1's names, too.
assert old.dropout(x, keep_prob=1.0).tolist() == x.tolist()
ids = [columns.categorical_column_with_identity(name, 3) for name in ("a", "b")]
assert len(columns.shared_embedding_columns(ids, 2)) == 2
"""
_SECOND = """
import tensorflow as tf
try:
    from tensorflow import contrib
except ImportError:
    pass
# Programs for both versions try what is there.
old = hasattr(tf, "Session"), getattr(tf, "layers", None)
try:
    tf.logging.set_verbosity(tf.logging.ERROR)
    from tensorflow import flags
except AttributeError:
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
x = tf.ones([2, 3])
assert tf.compat.v1.flags and type(x.shape[1]) is int
assert tf.nn.dropout(x, 0.0).tolist() == x.tolist() and tf.nn is not tf.compat.v1.nn
"""
_SESSIONS = """
import tensorflow as tf
# Part of the graph, although nothing of TensorFlow 1 was asked for yet.
count = tf.Variable(2)
more = tf.add(count, 1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(more) == 3
"""


@pytest.mark.programs
def test_a_program_of_either_generation_gets_its_own(tmp_path):
    for program in (_FIRST, _SECOND, _SESSIONS):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, str(path)],
            env=migration.environment_as_tensorflow(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
