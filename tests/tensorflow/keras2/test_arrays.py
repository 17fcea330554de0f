"""The backend's functions of arrays."""

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

K = tf.keras.backend


def test_draws_have_shape_and_dtype():
    assert K.random_normal((2, 3)).shape == (2, 3)
    assert set(np.asarray(K.random_binomial((50,), 0.5)).tolist()) == {0.0, 1.0}
    assert float(K.max(K.random_uniform((9,), 2.0, 3.0))) < 3
    assert np.abs(K.truncated_normal((99,))).max() <= 2
    assert (
        K.random_uniform_variable((2,), 0.0, 1.0).shape == K.random_normal_variable((2,), 0, 1).shape == (2,)
    )
    assert K.dropout(np.ones(100, np.float32), 0.5, seed=1).shape == (100,)


def test_ctc_decodes_the_likeliest_labels():
    likely = np.eye(3, dtype=np.float32)[[[0, 0, 2, 1]]] * 0.9 + 0.03
    (labels,), _ = K.ctc_decode(likely, [4])
    assert np.asarray(labels)[0, :2].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: K.batch_dot(np.ones((2, 2)), np.ones((2, 2)), axes=0), "first axis is that of the examples"),
        (lambda: K.conv1d(np.ones((1, 3, 1)), np.ones((1, 1, 1)), data_format="x"), "data_format must be"),
        (lambda: K.pool2d(np.ones((1, 2, 2, 1)), (2, 2), pool_mode="min"), "pool_mode must be"),
        (
            lambda: K.conv2d_transpose(np.ones((1, 2, 2, 1)), np.ones((1, 1, 1, 1)), (1, 9, 9, 1)),
            "output_shape",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(errors.BadArgumentError, match=message):
        call()
