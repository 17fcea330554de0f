"""Errors: TensorFlow's classes with their numbers, as programs make and catch them."""

import pickle

import pytest

import stratax.tf as tf
from stratax import errors

# As TensorFlow 2.21 numbers them.
CODES = {
    "AbortedError": 10,
    "AlreadyExistsError": 6,
    "CancelledError": 1,
    "DataLossError": 15,
    "DeadlineExceededError": 4,
    "FailedPreconditionError": 9,
    "InternalError": 13,
    "InvalidArgumentError": 3,
    "NotFoundError": 5,
    "OutOfRangeError": 11,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "UnauthenticatedError": 16,
    "UnavailableError": 14,
    "UnimplementedError": 12,
    "UnknownError": 2,
}


@pytest.mark.parametrize("name", CODES)
def test_an_error_of_tensorflows_is_made_caught_and_sent_as_there(name):
    error = getattr(tf.errors, name)(None, "an operation", "It failed.")
    assert (str(error), error.message, error.args) == ("It failed.", "It failed.", ("It failed.",))
    assert (error.node_def, error.op, error.experimental_payloads) == (None, "an operation", {})
    assert isinstance(error, tf.errors.OpError)
    assert error.error_code == CODES[name]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), "It failed.")
    assert getattr(tf.errors, name)(node_def=1, op=2, message="It failed.").op == 2


def test_the_numbers_have_tensorflows_names():
    assert {tf.errors.OK, tf.errors.UNKNOWN, *CODES.values()} == set(range(17))
    assert errors.BadArgumentError("").error_code == tf.errors.INVALID_ARGUMENT


def test_a_condition_on_a_traced_value_is_the_error_that_tensorflow_raises():
    @tf.function(autograph=False)
    def decide(x):
        return 1 if x > 0 else 2

    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="needs the value of an array"):
        decide(tf.constant(1.0))
    with pytest.raises(TypeError, match="needs the value of an array"):
        decide(tf.constant(1.0))


@pytest.mark.parametrize("cast", [lambda: tf.cast("a", tf.int32), lambda: tf.cast(1, tf.string)])
def test_a_cast_between_text_and_numbers_is_caught_as_tensorflows(cast):
    with pytest.raises(tf.errors.UnimplementedError, match="converts neither text") as raised:
        cast()
    assert raised.value.error_code == tf.errors.UNIMPLEMENTED
