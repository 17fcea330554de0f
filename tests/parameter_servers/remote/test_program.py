"""What a program of a worker takes: types of variables, and random states of its own."""

import keras
import numpy as np

import stratax as sx
from stratax.parameter_servers.remote import _program


def test_random_states_are_told_from_other_variables():
    assert _program.is_random_state(keras.random.SeedGenerator(0).state)
    assert not _program.is_random_state(sx.Variable(np.uint32([1, 2, 3])))
    assert not _program.is_random_state(sx.Variable(np.float32([1, 2])))


def test_an_input_has_the_type_of_its_variable():
    spec = _program.input_spec(sx.Variable(np.zeros((2, 3), "float32")))
    assert (spec.shape, spec.dtype) == ((2, 3), np.dtype("float32"))
