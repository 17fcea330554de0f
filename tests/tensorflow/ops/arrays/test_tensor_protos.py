"""Messages of arrays are TensorFlow's, byte for byte where a shape does not fill them up."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors


# What TensorFlow 1.15 serializes.
@pytest.mark.parametrize(
    ("values", "arguments", "serialized"),
    [
        ([1, 2, 3], {}, "0803120412020803220c010000000200000003000000"),
        ([1.0, 2.5], {}, "080112041202080222080000803f00002040"),
        (["a", b"bc"], {}, "080712041202080242016142026263"),
        ("x", {"shape": [1]}, "0807120412020801420178"),
        (np.float32([[1, 2]]), {}, "08011208120208011202080222080000803f00000040"),
        (True, {}, "080a12005a0101"),
        (np.int64([7, 8]), {}, "0809120412020802221007000000000000000800000000000000"),
    ],
)
def test_a_message_is_tensorflows(values, arguments, serialized):
    assert tf.make_tensor_proto(values, **arguments).SerializeToString().hex() == serialized


def test_a_message_gives_its_array():
    for values, arguments, wanted in [
        (3.5, {"shape": [2, 2]}, np.full((2, 2), 3.5, np.float32)),
        ([1, 2], {"dtype": tf.float64, "shape": [3]}, np.float64([1, 2, 2])),
        (tf.constant([[1, 2]]), {}, np.int32([[1, 2]])),
    ]:
        found = tf.make_ndarray(tf.contrib.util.make_tensor_proto(values, **arguments))
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert tf.make_ndarray(tf.make_tensor_proto(["a", b"bc"])).tolist() == [b"a", b"bc"]


def test_values_of_another_shape_are_refused():
    with pytest.raises(errors.BadArgumentError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(errors.BadArgumentError, match="Expected Tensor's shape"):
        tf.make_tensor_proto([1, 2], shape=[1])
