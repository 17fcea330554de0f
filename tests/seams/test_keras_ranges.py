"""What Keras looks up by number: errors from the first call of a process on, without a model and a strategy."""

import subprocess
import sys

import pytest

# Each raises InvalidArgumentError in TensorFlow 2.21, on a CPU.
REFUSED = {
    "a loss": "tf.keras.losses.sparse_categorical_crossentropy(bad, logits)",
    "an operation": "tf.keras.ops.sparse_categorical_crossentropy(bad, logits)",
    "a loss in a function": "tf.function(tf.keras.losses.sparse_categorical_crossentropy)(bad, logits)",
    "rows": "tf.keras.layers.Embedding(3, 2)(bad)",
    "elements": "tf.keras.ops.take(logits[0], bad)",
}


@pytest.fixture(scope="module")
def raised():
    """Gives what each says, of one process that makes neither a model nor a strategy."""
    text = f"""
import numpy as np
import stratax.tf as tf
bad, logits = tf.constant([1, 7]), tf.constant([[0.1, 0.9, 0.0], [0.2, 0.2, 0.6]])
for name, call in {REFUSED!r}.items():
    try:
        print(name, "gives", eval(call))
    except tf.errors.InvalidArgumentError as error:
        print(name, "raises", str(error).splitlines()[0])
"""
    command = [sys.executable, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=True).stdout


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_out_of_range_are_errors_before_there_is_a_model(raised, name):
    assert f"{name} raises" in raised, raised
