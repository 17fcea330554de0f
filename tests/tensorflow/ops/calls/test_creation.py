"""Arrays that `stratax.tf` makes, their dtypes and places."""

import warnings

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax.errors import BadArgumentError, BadTypeError


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([[1.0, 2.0]], "float32"),
        ([1, 2], "int32"),
        (True, "bool"),
        (np.ones(2, np.float16), "float16"),
        (np.ones(2), "float32"),
        (np.arange(3), "int32"),
    ],
)
def test_a_constant_is_a_jax_array_of_tensorflows_dtype(value, dtype):
    for make in (tf.constant, tf.convert_to_tensor):
        array = make(value)
        assert isinstance(array, tf.Tensor)
        assert array.dtype == dtype
        np.testing.assert_array_equal(array, value)


def test_64_bit_dtypes_become_32_bit_ones_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tf.constant([1], tf.int64).dtype == tf.int32
        assert tf.zeros([2], tf.float64).dtype == tf.float32
        assert tf.cast(tf.constant(1.5), tf.int64).dtype == tf.int32
        assert tf.argmax(tf.constant([1.0, 3.0])).dtype == tf.int32
    assert tf.cast(np.array(1.5), tf.int64).dtype == np.int64  # Not on the host.


def test_text_has_a_dtype_without_any_and_a_name():
    for value, shape in ([[], (0,)], [[[], []], (2, 0)]):
        made = tf.constant(value, tf.string)
        assert (made.shape, made.dtype) == (shape, tf.string)
    assert tf.constant(["a"], "string").tolist() == [b"a"]
    assert tf.TensorSpec([None], "string") == tf.TensorSpec([None], tf.string)
    with pytest.raises(BadTypeError, match=r"Text has the dtype tf\.string"):
        tf.constant([1], "string")


def test_a_constant_fills_or_takes_its_shape():
    assert tf.constant(7, shape=(2, 2)).tolist() == [[7, 7], [7, 7]]
    assert tf.constant([1, 2, 3, 4], shape=[2, 2]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(BadArgumentError, match="do not fill the shape"):
        tf.constant([1, 2, 3], shape=(2, 2))


@pytest.mark.parametrize("value", [np.array([None]), np.array([{}], object)])
def test_objects_are_refused(value):
    with pytest.raises(BadTypeError, match="Devices hold numbers, not text or objects"):
        tf.constant(value)


def test_arrays_of_given_shapes():
    assert tf.zeros([2, 1]).tolist() == [[0.0], [0.0]]
    assert tf.ones(2, tf.int32).tolist() == [1, 1]
    assert tf.fill([2], 3).tolist() == [3, 3]
    assert tf.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert tf.linspace(0.0, 1.0, 3).tolist() == [0.0, 0.5, 1.0]


def test_device_places_what_is_computed():
    with tf.device("/cpu:3"):
        product = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        variable = tf.Variable([1.0])
    assert product.device == jax.devices()[3]
    assert variable.value.device == jax.devices()[3]


def test_is_tensor_tells_device_arrays_from_host_arrays():
    assert tf.is_tensor(tf.constant(1))
    assert tf.is_tensor(tf.Variable(1.0))
    assert not tf.is_tensor(np.ones(1))
    assert not tf.is_tensor(1.0)


def test_eager_execution_is_distinguished_from_tracing():
    seen = []

    @tf.function
    def traced(x):
        seen.append(tf.executing_eagerly())
        return x

    traced(1.0)
    assert seen == [False]
    assert tf.executing_eagerly()


def test_variables_take_tensorflows_enumerations():
    variable = tf.Variable(
        0.0,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        synchronization=tf.VariableSynchronization.ON_READ,
    )
    assert variable.aggregation == "only_first_replica"
    assert variable.synchronization == "on_read"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1.5, "int32"), ([1.5, 2], "int32"), (1, "bool"), (np.ones(2, np.float32), "tensor"), (2j, "int32")],
)
def test_what_a_conversion_would_cut_off_is_refused(value, dtype):
    given = tf.constant(value) if dtype == "tensor" else value
    wanted = "int32" if dtype == "tensor" else dtype
    for convert in (tf.constant, tf.convert_to_tensor):
        with pytest.raises(BadTypeError, match=f"to a tensor of dtype {wanted}.*Use tf.cast"):
            convert(given, wanted)


def test_arrays_of_numpy_and_booleans_are_converted():
    assert tf.constant(np.array([1.5]), tf.int32).tolist() == [1]
    assert int(tf.constant(True, tf.int32)) == 1


def test_a_variable_of_whole_numbers_begins_with_whole_numbers():
    with pytest.raises(BadTypeError, match="dtype int32 does not begin with fractions.*=1.5"):
        tf.Variable(1.5, dtype=tf.int32)
    assert int(tf.Variable(np.float32(1.5), dtype=tf.int32)) == 1
