"""Results of a map that are not declared are refused."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def test_results_that_are_not_declared_are_refused():
    with pytest.raises(errors.BadTypeError, match="fn_output_signature=tf.bool"):
        tf.map_fn(lambda x: x > 0, np.ones(2, np.float32))
    with pytest.raises(errors.BadArgumentError, match="another structure than was declared"):
        tf.function(lambda x: tf.map_fn(lambda row: (row, row), x))(tf.ones([2]))
    with pytest.raises(errors.BadArgumentError, match="the same in all of them"):
        tf.vectorized_map(lambda x: x[0], (np.ones(2), np.ones(3)))
