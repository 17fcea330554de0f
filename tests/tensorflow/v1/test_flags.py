"""`tf.flags` and `tf.app.run`, as programs of TensorFlow 1 use them."""

import os

import pytest

from tests.cluster import forks

DEFINITIONS = """
import stratax.tf as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 3, "How many steps.")
tf.flags.DEFINE_string("model_dir", None, "Where checkpoints are.")
tf.flags.DEFINE_bool("use_tpu", False, "Whether there is a TPU.")
FLAGS = tf.flags.FLAGS
"""
WITH_MAIN = """
def main(argv):
    print(argv[1:], FLAGS.steps, FLAGS.model_dir, FLAGS.use_tpu, tf.app.flags.FLAGS is FLAGS)

if __name__ == "__main__":
    tf.app.run()
"""
WITHOUT_MAIN = """
FLAGS.steps = FLAGS.steps + 1
print(FLAGS.steps, "steps" in dir(FLAGS))
"""

pytestmark = pytest.mark.processes


@pytest.fixture
def program(tmp_path):
    def run(text, *arguments):
        path = tmp_path / "train.py"
        path.write_text(DEFINITIONS + text)
        return forks.run([path, *arguments], dict(os.environ))

    return run


def test_main_gets_what_no_flag_is(program):
    done = program(WITH_MAIN, "--steps=5", "--use_tpu", "--model_dir", "out", "file", "--unknown=1")
    assert done.stdout == "['file', '--unknown=1'] 5 out True True\n", done.stderr


def test_flags_are_read_when_the_first_is_asked_for(program):
    assert program(WITHOUT_MAIN, "--steps", "7").stdout == "8 True\n"


def test_a_wrong_value_ends_the_program_with_a_sentence(program):
    done = program(WITH_MAIN, "--steps=many")
    assert done.returncode == 1
    assert "flag --steps=many" in done.stderr
    assert "Pass --help" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_the_flags(program):
    done = program(WITH_MAIN, "--help")
    assert "--model_dir: Where checkpoints are." in done.stdout + done.stderr


def test_running_main_sets_up_no_logging(program):
    done = program("import logging\ntf.app.run(main=lambda argv: print(logging.getLogger().handlers))")
    assert done.stdout == "[]\n", done.stderr
