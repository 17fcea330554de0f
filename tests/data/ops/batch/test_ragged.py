"""What a batch of elements of different sizes says of itself before there are any."""

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.errors import BadArgumentError


def test_elements_behind_the_first_say_what_is_ragged():
    # Of a filtered source no function can be tried at once; TensorFlow 2.21 says ragged, too.
    even = Dataset.range(6).filter(lambda x: x % 2 == 0)
    ragged = even.map(lambda x: {"a": np.arange(x), "b": np.ones(3, np.float32)}).ragged_batch(2)
    assert str(ragged.element_spec["a"]).startswith("RaggedTensorSpec(TensorShape([None, None])")
    assert ragged.element_spec["b"].shape == (None, 3)
    assert [batch["a"].to_list() for batch in ragged] == [[[], [0, 1]], [[0, 1, 2, 3]]]


def test_an_element_that_fails_is_told_when_it_is_read():
    failing = (
        Dataset.range(6).filter(lambda x: x % 2 == 1).map(lambda x: np.arange(x // (x - 3))).ragged_batch(1)
    )
    assert failing.element_spec is not None
    iterator = iter(failing)
    assert next(iterator).tolist() == [[]]
    with pytest.raises(BadArgumentError, match="division by zero"):
        next(iterator)
