"""The training that a row lets go on by turns."""

import pytest

from benchmarks._estimator import _Paced


def test_a_training_that_fails_ends_the_row_with_its_error():
    def fail():
        raise ValueError("of the model")

    hook = _Paced()
    hook.start(fail)
    with pytest.raises(RuntimeError, match="The training has failed") as caught:
        hook.make(1)
    assert str(caught.value.__cause__) == "of the model"
    hook.stop()
