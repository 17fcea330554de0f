"""Sources of columns: widths, and features that are transformed before the step."""

import numpy as np

import stratax as sx
import stratax.tensorflow.feature_column as fc
from stratax.tensorflow import v1
from tests.tensorflow.feature_column.test_models import (
    COLOR,
    COLUMNS,
    SIZE,
    TAGS,
    _batch,
    _eagerly,
    _sparse,
    _text,
)


def test_widths_of_sparse_features_repeat_so_that_few_programs_are_compiled():
    widths = {
        fc.Transformation([TAGS]).host_features({"tags": _sparse([[b"a"] * n])})["tags/ids"].shape[1]
        for n in range(65)
    }
    assert widths == {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}


def test_features_transformed_in_advance_need_no_host():
    transformation = fc.Transformation(COLUMNS)
    numbers = transformation.host_features(_batch())
    assert {key: value.dtype.kind for key, value in numbers.items()} == {
        "size": "f",
        "tags/ids": "i",
        "color/ids": "i",
        "color_X_size_bucketized/ids": "i",
    }
    state = v1.ModelState(1)
    first, *_ = _eagerly(_batch(), state)
    with v1.ModelScope(state, "train").entered():
        np.testing.assert_array_equal(fc.input_layer(numbers, COLUMNS), first)


def test_a_transformation_in_a_dataset_feeds_a_compiled_layer():
    columns = [fc.indicator_column(COLOR), SIZE]
    transformation, layer = fc.Transformation(columns), fc.DenseFeatures(columns)
    data = sx.data.Dataset.from_tensor_slices({"color": _text("red", "blue"), "size": np.ones(2, np.float32)})
    (batch,) = data.batch(2).map(transformation.host_features)
    assert sx.function(layer)(batch).tolist() == [[1, 0, 0, 1], [0, 0, 1, 1]]
