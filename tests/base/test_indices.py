"""Dimensions and indices out of range are told where their values are known."""

import jax
import numpy as np
import pytest

from stratax import errors
from stratax.base import indices


def test_numbers_of_this_process_are_known_and_those_of_a_trace_are_not():
    assert indices.is_known([1, np.float32(2), jax.numpy.ones(2)])
    seen = []
    jax.jit(lambda x: seen.append(indices.is_known([1, x])) or x)(1.0)
    assert seen == [False]


def test_dimensions_are_counted_from_either_end():
    assert [indices.dim_of(axis, 3) for axis in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    with pytest.raises(errors.BadArgumentError, match="axis from -3 to 2. Received: axis=3"):
        indices.dim_of(3, 3)
    with pytest.raises(errors.BadTypeError, match="dim must be a whole number"):
        indices.dim_of(1.5, 3, "dim")
