"""`tf.logging`, as programs of TensorFlow 1 use it."""

import os
import subprocess
import sys

import pytest

import stratax.tf as tf

PROGRAM = """
import logging
import stratax.tf as tf
tf.logging.info("hidden")
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("step %d of %s", 3, "seven")
tf.logging.debug("hidden too")
logging.basicConfig(format="root: %(message)s")
tf.logging.warning("once")
"""


@pytest.mark.processes
def test_messages_appear_once_from_the_level_on():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr.splitlines() == ["INFO:stratax:step 3 of seven", "root: once"]


def test_levels_are_found_by_their_names():
    assert vars(tf.compat.v1.logging)["INFO"] == tf.compat.v1.logging.INFO
