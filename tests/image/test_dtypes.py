"""Conversions of images; the numbers are compared with TensorFlow's elsewhere."""

import jax
import keras
import numpy as np
import pytest

from stratax import image
from stratax.errors import BadArgumentError

pytestmark = pytest.mark.usefixtures("_loops")


@pytest.mark.parametrize("library", [np.asarray, jax.numpy.asarray], ids=["numpy", "jax"])
def test_saturated_values_are_the_nearest_that_fit(library):
    values = library(np.array([-3.0, 0.2, 0.999, 7.0, np.inf], np.float32))
    np.testing.assert_array_equal(
        image.convert_image_dtype(values, "uint8", saturate=True), [0, 51, 255, 255, 255]
    )
    top = np.iinfo(np.int32).max
    found = np.asarray(image.saturate_cast(library(np.array([-3e9, 3e9], np.float32)), "int32"), np.int64)
    assert found[0] == -top - 1
    assert top - 128 < found[1] <= top
    np.testing.assert_array_equal(image.saturate_cast(library(np.array([-5, 300, 7])), "uint8"), [0, 255, 7])
    np.testing.assert_array_equal(image.saturate_cast(library(np.array([200], np.uint8)), "int8"), [127])
    assert image.saturate_cast(values, "float16").dtype == np.float16


@pytest.mark.filterwarnings("error")
def test_what_is_no_number_becomes_an_integer_without_a_warning():
    values = np.array([np.nan, 1], np.float32)
    for saturate in (False, True):
        assert image.convert_image_dtype(values, "uint8", saturate=saturate)[1] == 255


def test_halves_hold_whole_numbers_of_sixteen_bits_on_the_way():
    halves = np.array([0, 0.5, 1], np.float16)
    np.testing.assert_array_equal(image.convert_image_dtype(halves, "uint16"), [0, 32767, 65535])


def test_the_same_dtype_is_the_same_array():
    photo = np.zeros((2, 2, 1), np.uint8)
    assert np.shares_memory(image.convert_image_dtype(photo, "uint8"), photo)


def test_variables_of_keras_are_taken_for_their_values():
    variable = keras.Variable(np.ones((2, 2, 1), np.float32))
    result = image.convert_image_dtype(variable, "uint8")
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(result, np.full((2, 2, 1), 255))


def test_numbers_and_lists_are_arrays_of_numpy():
    result = image.convert_image_dtype([[0.0, 1.0]], "uint8")
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, [[0, 255]])


@pytest.mark.parametrize(
    ("value", "dtype"), [(np.zeros(3), "bool"), (np.zeros(3, bool), "uint8"), (np.zeros(3), "complex64")]
)
def test_other_dtypes_are_refused(value, dtype):
    with pytest.raises(BadArgumentError, match="The dtype of an image is floating point or integer"):
        image.convert_image_dtype(value, dtype)
