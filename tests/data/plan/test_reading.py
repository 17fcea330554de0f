"""How many elements are read at once where nobody can tell."""

import numpy as np
import pytest

from stratax.data import Dataset
from stratax.data.plan._reading import read_ahead

WORDS = np.array([b"word"] * 100, object)


def _in_memory():
    return Dataset.from_tensor_slices({"word": WORDS, "number": np.zeros(100, "float32")})


@pytest.mark.parametrize(
    ("dataset", "at_once"),
    [
        # 256 KiB of references of 8 bytes and numbers of 4.
        (_in_memory().shuffle(100).repeat().batch(512), 42),
        (_in_memory().repeat().batch(512).prefetch(2), 42),
        # What a function gives may be of any size.
        (_in_memory().repeat().map(lambda row: row).batch(512), 1),
        (_in_memory().repeat().batch(10**6), 1),
    ],
)
def test_strings_in_memory_count_as_the_references_that_are_copied(dataset, at_once):
    assert read_ahead(dataset._node) == at_once
