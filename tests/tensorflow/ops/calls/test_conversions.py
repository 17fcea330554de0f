"""Objects of a program's own class become tensors by the functions that it registers."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


def of_list(value, dtype=None, name=None, as_ref=False):
    return tf.constant(value.numbers, dtype)


def a_class():
    class Box:
        def __init__(self, numbers):
            self.numbers = numbers

    return Box


def test_operands_are_converted_in_functions_too():
    box = a_class()
    tf.register_tensor_conversion_function(box, of_list)
    np.testing.assert_array_equal(tf.convert_to_tensor(box([1.0, 2.0])), [1, 2])
    np.testing.assert_array_equal(tf.add(box([1.0, 2.0]), 1.0), [2, 3])
    np.testing.assert_array_equal(tf.ones([2]) * box([3.0, 4.0]), [3, 4])
    np.testing.assert_array_equal(tf.function(lambda x: x + box([3.0, 4.0]))(tf.ones([2])), [4, 5])
    assert tf.convert_to_tensor(box([1, 2]), tf.float32).dtype == tf.float32


def test_functions_are_asked_in_the_order_of_their_priorities():
    box = a_class()
    tf.register_tensor_conversion_function(box, of_list)
    tf.register_tensor_conversion_function(box, lambda value, **_: tf.constant(7.0), priority=50)
    tf.register_tensor_conversion_function((box,), lambda value, **_: NotImplemented, priority=1)
    assert float(tf.convert_to_tensor(box([1.0]))) == 7


def test_a_class_made_of_another_has_the_functions_of_both():
    box = a_class()
    made = type("Made", (box,), {})
    tf.register_tensor_conversion_function(box, of_list)
    np.testing.assert_array_equal(tf.convert_to_tensor(made([1.0])), [1])
    tf.register_tensor_conversion_function(made, lambda value, **_: NotImplemented)
    np.testing.assert_array_equal(tf.convert_to_tensor(made([2.0])), [2])
    tf.register_tensor_conversion_function(made, lambda value, **_: tf.constant(7.0), priority=50)
    assert float(tf.convert_to_tensor(made([2.0]))) == 7
    np.testing.assert_array_equal(tf.convert_to_tensor(box([2.0])), [2])


def test_an_object_that_no_function_takes_is_named():
    box = a_class()
    tf.register_tensor_conversion_function(box, lambda value, **_: NotImplemented)
    with pytest.raises(
        errors.BadTypeError, match="No function that is registered for objects of .*Box makes"
    ):
        tf.convert_to_tensor(box([1.0]))


@pytest.mark.parametrize(
    ("base", "function", "message"),
    [
        (1, of_list, "must be a class"),
        (float, of_list, "become tensors by themselves"),
        (np.ndarray, of_list, "become tensors by themselves"),
        (str, of_list, "take no attributes"),
        (type("Own", (), {}), None, "must be a function"),
    ],
)
def test_what_can_not_be_registered_is_refused(base, function, message):
    with pytest.raises(errors.BadTypeError, match=message):
        tf.register_tensor_conversion_function(base, function)
