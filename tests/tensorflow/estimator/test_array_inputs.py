"""Arrays and tables as input: batches, epochs, shuffling, and what is no array."""

import numpy as np
import pandas as pd
import pytest

from stratax import errors
from stratax.tensorflow.estimator.inputs import numpy_input_fn, pandas_input_fn
from tests.tensorflow.estimator.test_estimator import FEATURES, LABELS, estimator, model_fn

X = {"a": np.arange(5.0), "b": np.arange(10).reshape(5, 2)}
Y = np.arange(5) * 10


def test_arrays_come_in_batches_that_span_epochs():
    batches = list(numpy_input_fn(X, Y, batch_size=4, num_epochs=2, shuffle=False)())
    assert [labels.tolist() for _, labels in batches] == [[0, 10, 20, 30], [40, 0, 10, 20], [30, 40]]
    assert batches[2][0]["b"].tolist() == [[6, 7], [8, 9]]


def test_shuffled_arrays_keep_their_rows_together():
    made = numpy_input_fn(X, Y, batch_size=5, num_epochs=None, shuffle=True)()
    first, second = made.take(2)
    for features, labels in (first, second):
        assert sorted(labels) == sorted(Y)
        assert np.array_equal(features["a"] * 10, labels)
        assert np.array_equal(features["b"][:, 0], features["a"] * 2)


def test_a_table_gives_a_feature_for_each_column():
    table = pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "yy"]})
    ((features, labels),) = pandas_input_fn(table, table["a"] * 2, shuffle=False)()
    assert features["name"].tolist() == [b"x", b"yy"]
    assert labels.tolist() == [2, 4]
    (only,) = pandas_input_fn(table, shuffle=False)()
    assert list(only) == ["a", "name"]


def test_a_model_is_trained_on_arrays(tmp_path):
    made = estimator(tmp_path, model_fn)
    made.train(numpy_input_fn(FEATURES, LABELS, batch_size=32, num_epochs=4, shuffle=False))
    assert made.get_variable_value("global_step") == 12


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"x": X, "y": Y}, errors.BadArgumentError, "shuffle must be provided"),
        ({"x": X, "y": Y[:3], "shuffle": True}, errors.BadArgumentError, "mismatched.*Received: 3, 5"),
        ({"x": [1, 2], "shuffle": True}, errors.BadTypeError, "x must be a NumPy array"),
        ({"x": {"a": 3}, "shuffle": True}, errors.BadTypeError, r"x\['a'\] must be a NumPy array"),
        ({"x": {}, "shuffle": True}, errors.BadArgumentError, "x has no arrays"),
    ],
)
def test_wrong_arrays_raise(arguments, error, message):
    with pytest.raises(error, match=message):
        numpy_input_fn(**arguments)


def test_wrong_tables_raise():
    table = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(errors.BadTypeError, match="must be a pandas DataFrame"):
        pandas_input_fn({"a": [1]}, shuffle=True)
    with pytest.raises(errors.BadArgumentError, match="Index for x and y are mismatched"):
        pandas_input_fn(table, table["a"][:1], shuffle=True)


def test_names_in_a_table_are_text_of_any_language():
    table = pd.DataFrame({"name": ["Zoë", "東京"]})
    ((features),) = pandas_input_fn(table, shuffle=False)()
    assert [name.decode() for name in features["name"]] == ["Zoë", "東京"]
