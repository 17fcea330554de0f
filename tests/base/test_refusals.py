"""Errors of other libraries under the names of the functions that a program called."""

import warnings

import jax
import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors
from stratax.base.refusals import explain_refusal, raises_named


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tf.maximum(tf.zeros([2]), tf.zeros([3])),
            r"tf\.math\.maximum can't compute .* Received: x=float32\(2,\), y=float32\(3,\)",
        ),
        (lambda: tf.argmax(tf.zeros([2]), axis=3), r"tf\.argmax .* Received: input=float32\(2,\), axis=3"),
        (
            lambda: tf.stack([tf.zeros([2]), tf.zeros([3])]),
            r"tf\.stack .* values=\[float32\(2,\), float32\(3,\)\]",
        ),
        (lambda: tf.strings.split(3), r"tf\.strings\.split can't compute"),
    ],
)
def test_an_error_of_a_library_names_the_function_and_its_arguments(call, message):
    for kind in (tf.errors.InvalidArgumentError, ValueError, TypeError):
        with pytest.raises(kind, match=message) as found:
            call()
    assert isinstance(found.value.__cause__, Exception)


def test_a_missing_or_unknown_argument_is_pythons_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'axes'") as found:
        tf.reduce_sum(tf.zeros([2]), axes=0)
    assert not isinstance(found.value, errors.StrataxError)


def test_what_jax_says_of_tracing_stays_as_it_is():
    @raises_named
    def decide(x):
        return 1 if x > 0 else 2

    with pytest.raises(jax.errors.TracerBoolConversionError, match="boolean conversion"):
        jax.jit(decide)(1.0)
    assert explain_refusal(decide, (1,), {}, OSError("It is gone.")) is None


def test_a_wrong_dtype_is_caught_by_whatever_a_program_catches():
    for kind in (tf.errors.InvalidArgumentError, ValueError, TypeError):
        with pytest.raises(kind, match="takes whole numbers"):
            tf.bitwise.invert(tf.zeros([2]))


def test_undefined_numbers_on_the_host_come_without_a_warning():
    x = np.array([-1.0, 0.0], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tf.math.log(x), np.array([np.nan, -np.inf], np.float32))
        assert np.isnan(tf.reduce_mean(x[:0]))
        assert tf.cast(np.array([np.nan], np.float32), tf.int32).shape == (1,)
        quotients = list(tf.data.Dataset.from_tensor_slices(x).map(lambda x: x / 0.0))
    np.testing.assert_array_equal(quotients, [-np.inf, np.nan])


def test_a_label_that_is_no_class_raises_or_makes_the_loss_nan():
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"label value of 2 .* range of \[0, 2\)"):
        loss(tf.constant([0, 2]), tf.zeros([2, 2]))
    np.testing.assert_allclose(
        jax.jit(loss)(tf.constant([0, 2, -1]), tf.zeros([3, 2])), [np.log(2), np.nan, np.nan], rtol=1e-6
    )
