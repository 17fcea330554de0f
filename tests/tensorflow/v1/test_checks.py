"""TensorFlow 1's checks take data before the message."""

import inspect

import pytest

import stratax.tf as tf2
import stratax.tf.compat.v1 as tf
from stratax import errors

TF1 = tf2.compat.v1


def test_tensorflow_1_passes_data_before_the_message():
    for name in ("assert_equal", "assert_near", "assert_rank", "assert_positive"):
        names = list(inspect.signature(getattr(TF1, name)).parameters)
        assert names[-4:] == ["data", "summarize", "message", "name"]
    assert list(inspect.signature(TF1.assert_near).parameters)[:4] == ["x", "y", "rtol", "atol"]
    TF1.assert_equal(1, 1, ["data"])
    with pytest.raises(ValueError, match=r"^x is wrong\. Condition x == y"):
        TF1.assert_equal(1, 2, ["x", b"is wrong", 3])
    with pytest.raises(ValueError, match=r"^m\. Condition x > 0"):
        TF1.debugging.assert_positive(-1.0, data=["d"], message="m")
    with pytest.raises(ValueError, match=r"m\. Tensor must have rank 1"):
        TF1.assert_rank(1.0, 1, message="m")
    assert TF1.assert_scalar(3, "name") == 3
    assert tf2.assert_non_negative is TF1.assert_non_negative


def test_assertions_are_operations_of_a_graph():
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [None])
        checks = [tf.assert_equal(x, y, message="differ"), tf.Assert(tf.reduce_all(x > 0.0), [x])]
        with tf.control_dependencies(checks):
            checked = tf.identity(x)
        assert session.run(checked, {x: [1, 2], y: [1, 2]}).tolist() == [1, 2]
        with pytest.raises(errors.BadArgumentError, match="differ"):
            session.run(checked, {x: [1, 2], y: [1, 3]})
        with pytest.raises(errors.BadArgumentError, match="Expected the condition to be true"):
            session.run(checks[1], {x: [-1, 2]})
        assert session.run(tf.check_numerics(x, "bad"), {x: [1.0]}) == [1.0]
