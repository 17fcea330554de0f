"""Which server has which variable: least load first, or anywhere."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

training = tf.contrib.training


def test_a_variable_goes_where_least_is():
    sizes = [(4, 4), (2, 2), (3,), (8, 8)]
    variables = [tf.Variable(np.zeros(size, np.float32)) for size in sizes]
    assert [training.byte_size_load_fn(each) for each in variables] == [64, 16, 12, 256]
    choose = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    assert [choose(each) for each in variables] == [0, 1, 1, 1]


def test_an_operation_has_the_size_of_its_output():
    class Operation:
        outputs = (tf.Variable(np.zeros(3, np.float32)),)

    assert training.byte_size_load_fn(Operation()) == 12


def test_a_shape_that_is_not_known_is_refused():
    with pytest.raises(errors.BadArgumentError, match="has to be known"):
        training.byte_size_load_fn(tf.TensorSpec([None, 2], tf.float32))


def test_a_random_choice_is_one_of_the_servers():
    first, second = (training.RandomStrategy(3, seed=1) for _ in range(2))
    chosen = [first(None) for _ in range(20)]
    assert set(chosen) == {0, 1, 2}
    assert chosen == [second(None) for _ in range(20)]
