"""`input_signature`, `get_concrete_function` and what a compiled function tells of its traces."""

import warnings

import numpy as np
import pytest

import stratax.tf as tf
from stratax import errors

VECTOR = tf.TensorSpec([None], tf.float32)


def test_arguments_become_what_is_declared():
    seen = []

    @tf.function(input_signature=[VECTOR, {"n": tf.TensorSpec([], tf.int32)}])
    def scaled(x, options, offset=1.0):
        seen.append((x.dtype, options["n"].dtype))
        return x * tf.cast(options["n"], tf.float32) + offset

    for x in ([1, 2], np.array([1.0, 2.0]), tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])):
        assert scaled(x, {"n": 3}).tolist() == [4.0, 7.0]
    assert scaled(options={"n": np.int64(4)}, x=[1.0]).tolist() == [5.0]
    assert set(seen) == {(np.dtype("float32"), np.dtype("int32"))}
    assert scaled.experimental_get_tracing_count() == 2
    assert scaled.input_signature == (VECTOR, {"n": tf.TensorSpec([], tf.int32)})
    assert tf.function(lambda y: scaled(y, {"n": 1}))(tf.constant([5.0])).tolist() == [6.0]


def test_what_does_not_fit_a_signature_is_refused():
    double = tf.function(lambda x: x * 2, input_signature=[VECTOR])
    with pytest.raises(errors.BadTypeError, match="does not fit its signature"):
        double(tf.constant([1]))
    with pytest.raises(errors.BadTypeError, match="does not fit its signature"):
        double(tf.constant([[1.0]]))
    with pytest.raises(errors.BadTypeError, match="Too many positional arguments"):
        double(tf.constant([1.0]), 2)
    with pytest.raises(errors.BadTypeError, match="another structure than its signature"):
        tf.function(lambda x: x, input_signature=[[VECTOR, VECTOR]])([tf.constant([1.0])])
    with pytest.raises(errors.BadTypeError, match="Too many arguments for the input_signature"):
        tf.function(lambda x, y=1.0: x, input_signature=[VECTOR])([1.0], 2.0)
    with pytest.raises(errors.BadTypeError, match="for each argument without a default"):
        tf.function(lambda x, y: x * y, input_signature=[VECTOR])([1.0])
    with pytest.raises(errors.BadTypeError, match="must be a list with a"):
        tf.function(lambda x: x, input_signature=VECTOR)([1.0])


def test_methods_have_signatures_without_self():
    class Model:
        @tf.function(input_signature=[VECTOR])
        def double(self, x):
            return x * 2

    assert Model().double([1, 2]).tolist() == [2.0, 4.0]
    assert Model().double.get_concrete_function()(tf.constant([3.0])).tolist() == [6.0]


@pytest.mark.parametrize("options", [{"reduce_retracing": True}, {"input_signature": [VECTOR]}])
def test_new_shapes_do_not_warn_where_they_are_expected(options):
    total = tf.function(tf.reduce_sum, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in range(8):
            total(np.ones(size, np.float32))


def test_a_concrete_function_is_traced_at_once_and_says_what_it_takes_and_gives():
    made = []

    @tf.function
    def dense(x, units, *, bias=True):
        if not made:
            made.append(tf.Variable(np.ones((x.shape[1], units), np.float32)))
        return {"y": tf.matmul(x, made[0]), "name": "dense"}

    concrete = dense.get_concrete_function(tf.TensorSpec([2, 3], tf.float32), 4)
    assert made[0].shape == (3, 4)
    assert concrete.name == "dense"
    (spec, units), keywords = concrete.structured_input_signature
    assert (spec.shape, spec.dtype, units, keywords) == ((2, 3), "float32", 4, {"bias": True})
    outputs = concrete.structured_outputs
    assert (outputs["y"].shape, outputs["y"].dtype, outputs["name"]) == ((2, 4), "float32", "dense")
    assert concrete(tf.ones([2, 3]))["y"].tolist() == [[3.0] * 4] * 2
    assert concrete(tf.ones([2, 3]), 4)["y"].shape == concrete(x=np.ones((2, 3)))["y"].shape == (2, 4)
    assert dense.experimental_get_tracing_count() == 1


def test_a_concrete_function_refuses_what_it_was_not_made_for():
    concrete = tf.function(lambda x, n: x * n).get_concrete_function(VECTOR, 3)
    assert concrete([1.0]).tolist() == concrete(tf.constant([1.0]), n=3).tolist() == [3.0]
    with pytest.raises(errors.BadTypeError, match="another than that it was made for"):
        concrete(tf.constant([1.0]), 4)
    with pytest.raises(errors.BadTypeError, match="does not fit its signature"):
        concrete(tf.constant([1]))
    with pytest.raises(errors.BadTypeError, match="takes the arguments that it was made for"):
        concrete()
    with pytest.raises(errors.BadArgumentError, match="all sizes"):
        _ = concrete.structured_outputs
    with pytest.raises(errors.BadTypeError, match="does not take these arguments"):
        tf.function(lambda x: x).get_concrete_function(VECTOR, VECTOR)
    of_array = tf.function(lambda x: x).get_concrete_function(tf.constant([1.0, 2.0]))
    assert of_array.structured_outputs.shape == (2,)


def test_init_scope_leaves_the_function():
    seen = []

    @tf.function
    def traced(x):
        with tf.init_scope():
            seen.append(float(tf.constant(2.0) * 3.0))
            seen.append(tf.executing_eagerly())
        return x

    traced(tf.constant(1.0))
    assert seen == [6.0, True]


def test_static_values():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(3) == 3
    assert tf.get_static_value("a") == b"a"
    assert tf.get_static_value(tf.Variable(1.0)) is None
    seen = []
    tf.function(lambda x: seen.append(tf.get_static_value(x)))(tf.constant(1.0))
    assert seen == [None]


def test_what_is_symbolic():
    seen = []
    tf.function(lambda x: seen.extend([tf.is_symbolic_tensor(x), tf.inside_function()]))(tf.constant(1.0))
    assert seen == [True, True]
    assert (tf.is_symbolic_tensor(tf.constant(1.0)), tf.inside_function()) == (False, False)
    assert tf.is_symbolic_tensor(tf.keras.Input((2,)))
    first, second = tf.tuple([tf.constant(1.0), None])
    assert (first.item(), second) == (1.0, None)
