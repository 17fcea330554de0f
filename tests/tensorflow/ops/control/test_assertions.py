"""What assertions say, where they run, and what TensorFlow 1's take."""

import numpy as np
import pytest

import stratax.tf as tf


def test_a_message_tells_the_first_element_that_is_wrong():
    with pytest.raises(
        ValueError,
        match=r"^Labels\. Condition x == y did not hold\. 3 of 4 elements; the first at \(0, 1\): x = 2, y = 3\.$",
    ):
        tf.debugging.assert_equal(np.array([[1, 2], [3, 4]]), [1, 3], message="Labels")
    with pytest.raises(ValueError, match=r"Condition x > 0 did not hold element-wise\. 1 of 1.*x = -1\.0\.$"):
        tf.debugging.assert_positive(tf.constant(-1.0))
    with pytest.raises(ValueError, match=r"b'a', y = b'b'"):
        tf.debugging.assert_equal("a", "b")
    with pytest.raises(ValueError, match=r"shapes that broadcast\. Received: \(2,\) and \(3,\)"):
        tf.debugging.assert_equal([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match=r"not equal to tolerance rtol = 0\.1, atol = .*x = 1\.0, y = 2\.0"):
        tf.debugging.assert_near([1.0], [2.0], rtol=0.1)
    with pytest.raises(TypeError, match=r"Floating point numbers are near.*int64\. Use assert_equal"):
        tf.debugging.assert_near([1], [1])


def test_a_compiled_function_tells_the_same():
    @tf.function
    def compare(x, y):
        tf.debugging.assert_less(x, y, message="Order")
        return x

    with pytest.raises(
        ValueError, match=r"^Order\. Condition x < y did not hold\. 1 of 2.*\(1,\): x = 3, y = 3\."
    ):
        compare(tf.constant([1, 3]), tf.constant([2, 3]))
    with pytest.raises(ValueError, match="m : Tensor had Inf and NaN values"):
        tf.function(lambda x: tf.debugging.check_numerics(x, "m"))(tf.constant([np.nan, np.inf]))


@pytest.mark.parametrize("compiled", [False, True])
def test_assert_shows_the_first_elements_of_what_it_is_given(compiled):
    def fail(x, summarize=None):
        tf.debugging.Assert(tf.reduce_all(x > 2), ["The numbers", x, 7], summarize)

    run = tf.function(fail) if compiled else fail
    numbers = tf.constant([1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="to be true. Summarized data: The numbers\n1, 2, 3, ...\n7"):
        run(numbers)
    with pytest.raises(ValueError, match="The numbers\n1, 2, 3, 4, 5\n7"):
        run(numbers, -1)
    run(numbers + 2)


def test_what_is_false_anyway_tells_what_the_program_computes():
    @tf.function
    def fail(x):
        tf.debugging.Assert(False, [x * 2])

    with pytest.raises(ValueError, match="Summarized data: 6$|Summarized data: 6\n"):
        fail(tf.constant(3))


def test_functions_of_a_dataset_assert_each_element():
    def checked(x):
        tf.debugging.assert_less(x, np.int64(3), message="An element")
        return x + 1

    dataset = tf.data.Dataset.range(3).map(checked)
    assert [int(x) for x in dataset] == [1, 2, 3]
    assert next(iter(dataset.batch(3))).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"An element\. Condition x < y.*x = 3, y = 3"):
        list(tf.data.Dataset.range(5).map(checked).batch(5))


def test_an_assertion_can_stand_among_control_dependencies():
    with tf.control_dependencies([tf.debugging.assert_equal(1, 1), tf.Assert(True, [])]):
        assert float(tf.constant(1.0)) == 1


@pytest.mark.parametrize("function", [tf.debugging.check_numerics, tf.debugging.assert_all_finite])
def test_finite_numbers_of_python_become_a_tensor(function):
    made = function([1.0, 2.0], "m")
    assert (made.dtype, made.tolist()) == ("float32", [1.0, 2.0])
    assert function(1.0, "m").dtype == "float32"
    array = np.array([1.0])
    assert function(array, "m") is array
    traced = tf.function(lambda x: function([x, x], "m"))(tf.constant(1.0))
    assert traced.tolist() == [1.0, 1.0]
