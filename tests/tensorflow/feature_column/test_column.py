"""What a model takes for a column."""

import numpy as np
import pytest

import stratax.tensorflow.feature_column as fc
from stratax import errors

NUMBER = fc.numeric_column("n")


def test_batches_of_several_sizes_are_refused():
    with pytest.raises(errors.BadArgumentError, match="one number of examples.*{'m': 2, 'n': 3}"):
        fc.input_layer({"n": np.ones(3), "m": np.ones(2)}, [NUMBER, fc.numeric_column("m")])


def test_linear_model_takes_columns_only():
    class Other(fc.FeatureColumn):
        name = "other"
        parse_example_spec = None
        host_columns = ()

    with pytest.raises(errors.BadArgumentError, match="takes dense and categorical columns"):
        fc.linear_model({}, [Other()])
