"""The training that a row lets go on by turns."""

import pytest

import stratax.tf as tf
from benchmarks._estimator_programs import paced_hook


def test_a_training_that_fails_ends_the_row_with_its_error():
    def fail():
        raise ValueError("of the model")

    hook = paced_hook(tf, lambda: None)
    hook.start(fail)
    with pytest.raises(RuntimeError, match="The Estimator has failed") as caught:
        hook.make(1)
    assert str(caught.value.__cause__) == "of the model"
    hook.stop()
