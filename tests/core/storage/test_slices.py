"""A part of a variable is assigned; an array is not."""

import jax.numpy as jnp
import numpy as np
import pytest

from stratax.core import storage


class Kept:
    def __init__(self, value):
        self.value = value

    def assign(self, value):
        self.value = value


def test_what_is_assigned_to_a_part_is_in_the_variable_and_nowhere_else():
    variable = Kept(jnp.float32([1, 2, 3]))
    part = storage.note_part(variable.value[1:], variable, slice(1, None))
    assert storage.assign_part(part)([7, 8]) is variable
    assert np.asarray(variable.value).tolist() == [1, 7, 8]
    with pytest.raises(AttributeError, match="An array has no `assign`"):
        storage.assign_part(jnp.ones(2))
