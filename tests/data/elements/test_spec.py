"""TensorSpec and the conversion of leaves."""

import numpy as np
import pytest

from stratax.data import (
    AUTOTUNE,
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Dataset,
    DatasetSpec,
    TensorShape,
    TensorSpec,
)
from stratax.errors import BadArgumentError, BadTypeError


def test_constants_are_tensorflows():
    assert (AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY) == (-1, -1, -2)


def test_specs_compare_and_print():
    spec = TensorSpec([None, 2], "int64", name="x")
    assert spec == TensorSpec((None, 2), np.int64)
    assert hash(spec) == hash(TensorSpec((None, 2), np.int64))
    assert spec != TensorSpec((None, 3), np.int64)
    assert spec != 5
    assert repr(spec) == "TensorSpec(shape=(None, 2), dtype=tf.int64, name='x')"
    assert spec.name == "x"
    assert TensorSpec((3,)).dtype == np.float32


def test_specs_fit_what_agrees_with_them():
    spec = TensorSpec((None, 2), "float32")
    assert spec.is_compatible_with(np.zeros((5, 2), np.float32))
    assert not spec.is_compatible_with(np.zeros((5, 3), np.float32))
    assert not spec.is_compatible_with(np.zeros((2,), np.float32))
    assert not spec.is_compatible_with(np.zeros((5, 2)))
    assert TensorSpec(None, "float32").is_compatible_with(np.zeros((5, 2), np.float32))


def test_specs_batch_and_merge():
    spec = TensorSpec((2, 3))
    assert spec.batched(None).shape == (None, 2, 3)
    assert spec.merged(TensorSpec((2, 4))).shape == (2, None)
    assert spec.merged(TensorSpec((2,))).shape is None
    assert TensorSpec(None).batched(3).shape is None


def test_one_size_is_a_shape_of_one_dimension_as_in_tensorflow():
    assert TensorSpec(3).shape == (3,)
    assert TensorShape(3) == TensorShape([3])
    found = Dataset.range(3).map(lambda x: np.full(int(x), x)).padded_batch(3, padded_shapes=4)
    assert next(iter(found)).tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [2, 2, 0, 0]]


def test_bad_shapes_and_dtypes_are_refused():
    with pytest.raises(BadTypeError, match="A shape is a sequence of sizes"):
        TensorSpec(5.5)
    with pytest.raises(BadArgumentError, match="sizes of a shape are not negative"):
        TensorSpec((-3,))
    with pytest.raises(BadTypeError, match="A dtype was expected"):
        TensorSpec((3,), "float33")


def test_a_shape_has_the_methods_of_tensorflows():
    shape = Dataset.range(5).batch(2).element_spec.shape
    assert isinstance(shape, TensorShape)
    assert (shape.rank, shape.as_list(), shape[0]) == (1, [None], None)
    assert shape == (None,)
    assert repr(TensorSpec((None, 2))) == "TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)"


def test_a_tensors_spec_is_compatible_with_nothing_that_has_no_dtype():
    # As TensorFlow 2.21 says.
    for other in (DatasetSpec(TensorSpec((), "int64")), "x", None):
        assert not TensorSpec((), "int64").is_compatible_with(other)
