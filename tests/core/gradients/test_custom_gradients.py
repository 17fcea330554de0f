"""Functions with derivatives of their own, beside what `tests/golden/surface/control.py` compares with TensorFlow."""

import jax
import pytest

import stratax as sx
import stratax.tf as tf
from stratax import errors


def gradients(function, x, sources):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    found = tape.gradient(y, [x, *sources])
    return [None if each is None else each.item() for each in (y, *found)]


@pytest.fixture
def scaled():
    v = tf.Variable(2.0)
    frozen = tf.Variable(1.0, trainable=False)

    @tf.custom_gradient
    def own(x):
        """Scale."""
        y = x * v * frozen

        def gradient(upstream, variables=None):
            assert variables == [v]
            return upstream * 100.0, [upstream * y]

        return y, gradient

    return own, v


def test_variables_that_the_function_reads_have_gradients(scaled):
    own, v = scaled
    assert own.__doc__ == "Scale."
    x = tf.constant(3.0)
    assert gradients(own, x, [v]) == [6.0, 100.0, 6.0]
    assert tf.function(lambda x: own(x))(x).item() == own(x).item() == 6.0

    @tf.function
    def in_a_loop(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = 0.0
            for _ in tf.range(3):
                total += own(x) * 2.0
        return total, *tape.gradient(total, [x, v])

    assert [each.item() for each in in_a_loop(x)] == [36.0, 600.0, 36.0]
    loss, (gradient,) = sx.value_and_grad(own, variables=[v])(x)
    assert (loss.item(), gradient.item()) == (6.0, 6.0)


def test_derivatives_of_derivatives_are_those_of_the_gradient_function():
    own = tf.custom_gradient(lambda x: (x * x, lambda upstream: upstream * 10.0 * x * x))
    x = tf.constant(3.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = own(x)
        first = inner.gradient(y, x)
    assert (first.item(), outer.gradient(first, x).item()) == (90.0, 60.0)
    assert jax.grad(jax.grad(own))(3.0).item() == 60.0


def test_what_the_function_assigns_is_assigned():
    count = tf.Variable(0, trainable=False)

    def counted(x):
        count.assign_add(1)
        return x * 2.0

    own = tf.custom_gradient(lambda x: (counted(x), lambda upstream: upstream))
    again = tf.recompute_grad(counted)
    x = tf.constant(1.0)
    for function in (own, again, tf.function(lambda x: again(x)), tf.function(lambda x: own(x))):
        before = int(count.numpy())
        assert function(x).item() == 2.0
        assert gradients(function, x, [])[1] == (1.0 if function is own else 2.0) or function not in (
            own,
            again,
        )
        assert count.numpy() == before + 2


def test_a_function_that_computes_again_has_gradients_of_variables():
    v, w = tf.Variable(2.0), tf.Variable(5.0)

    @tf.recompute_grad
    def product(x):
        if x > 100.0:
            x = x * 0.0
        return x * v * w

    assert gradients(product, tf.constant(3.0), [v, w]) == [30.0, 10.0, 15.0, 6.0]
    jaxpr = tf.function(lambda x: product(x)).jaxpr(tf.constant(3.0))
    assert any(
        "remat" in str(equation.primitive) or "checkpoint" in str(equation.primitive)
        for equation in jaxpr.eqns
    )


def test_a_gradient_passes_through(scaled):
    _, v = scaled
    rounded = tf.grad_pass_through(lambda x: tf.round(x * v))
    assert gradients(rounded, tf.constant(3.3), [v]) == [7.0, 1.0, None]


def test_methods_and_arguments_that_are_no_arrays():
    class Model:
        @tf.custom_gradient
        def call(self, x, name, *, factor):
            assert name == "a"
            return x * factor, lambda upstream: (upstream, upstream * 7.0)

    x, factor = tf.constant(3.0), tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch([x, factor])
        y = Model().call(x, "a", factor=factor)
    assert [each.item() for each in tape.gradient(y, [x, factor])] == [1.0, 7.0]


def test_wrong_functions_say_what_was_expected(scaled):
    _, v = scaled
    x = tf.constant(1.0)
    with pytest.raises(errors.BadTypeError, match="returns a pair"):
        tf.custom_gradient(lambda x: x)(x)
    with pytest.raises(errors.BadTypeError, match="takes a function"):
        tf.custom_gradient(3)
    with pytest.raises(errors.BadTypeError, match="keyword argument 'variables'"):
        gradients(tf.custom_gradient(lambda x: (x * v, lambda upstream: upstream)), x, [v])
    with pytest.raises(errors.BadArgumentError, match="gave 2 gradients of arguments"):
        gradients(tf.custom_gradient(lambda x: (x, lambda upstream: (upstream, upstream))), x, [])
    with pytest.raises(errors.BadArgumentError, match="another shape"):
        gradients(tf.custom_gradient(lambda x: (x, lambda upstream: tf.ones([2]))), x, [])
