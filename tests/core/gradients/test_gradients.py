import collections

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from jax.sharding import PartitionSpec
from keras.src.utils.tracking import TrackedList

from stratax import errors
from stratax.core import jaxprs, value_and_grad
from stratax.core.gradients import _gradients


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(0)
    return rng.normal(size=(8, 5)).astype("float32"), rng.integers(0, 3, size=(8,))


def classifier(*extra):
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(4, "relu"), *extra, keras.layers.Dense(3)]
    )
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def loss(x, y):
        return loss_fn(y, model(x, training=True)) + sum(model.losses)

    return model, loss, loss_fn


def by_hand(model, loss_fn):
    def loss(trainable, non_trainable, x, y):
        logits, new, extra = model.stateless_call(
            trainable, non_trainable, x, training=True, return_losses=True
        )
        return loss_fn(y, logits) + sum(extra), new

    return jax.value_and_grad(loss, has_aux=True)


def values(variables):
    return [np.asarray(v.value) for v in variables]


def assert_all_close(actual, expected):
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-6)


def equation_counts(jaxpr):
    return collections.Counter(equation.primitive.name for equation in jaxprs.walk_nested(jaxpr))


@pytest.mark.parametrize(
    "extra",
    [
        [],
        [keras.layers.BatchNormalization],
        [lambda: keras.layers.Dropout(0.5, seed=3)],
        [lambda: keras.layers.Dense(4, kernel_regularizer="l2", activity_regularizer="l1")],
        [lambda: keras.layers.LayerNormalization()],
    ],
    ids=["mlp", "batch_norm", "dropout", "losses", "layer_norm"],
)
def test_it_equals_jax_and_keeps_the_side_effects(extra, batch):
    model, loss, loss_fn = classifier(*[make() for make in extra])
    state = values(model.trainable_variables), values(model.non_trainable_variables)
    (expected, new_state), expected_gradients = by_hand(model, loss_fn)(*state, *batch)
    actual, gradients = value_and_grad(loss, model.trainable_variables)(*batch)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    assert_all_close(gradients, expected_gradients)
    assert_all_close(values(model.non_trainable_variables), new_state)
    assert_all_close(values(model.trainable_variables), state[0])


def test_the_compiled_program_is_the_one_written_by_hand(batch):
    model, loss, loss_fn = classifier(keras.layers.BatchNormalization(), keras.layers.Dropout(0.3, seed=1))

    def step(trainable, non_trainable, x, y):
        mapping = list(zip(model.trainable_variables, trainable, strict=True))
        mapping += zip(model.non_trainable_variables, non_trainable, strict=True)
        with keras.StatelessScope(mapping) as scope:
            value, gradients = value_and_grad(loss, model.trainable_variables)(x, y)
        return (value, [scope.get_current_value(v) for v in model.non_trainable_variables]), gradients

    state = values(model.trainable_variables), values(model.non_trainable_variables)
    ours = equation_counts(jax.make_jaxpr(step)(*state, *batch).jaxpr)
    reference = equation_counts(jax.make_jaxpr(by_hand(model, loss_fn))(*state, *batch).jaxpr)
    assert reference["dot_general"] == 5
    # It marks the labels, which are looked at before the program runs, and computes nothing.
    assert ours.pop("stratax_watch") == 1
    assert ours == reference


def test_structures_duplicates_and_single_variables_keep_their_form():
    a, b = keras.Variable(2.0), keras.Variable(np.array([1.0, 3.0], "float32"))
    value, gradients = value_and_grad(lambda: keras.ops.sum(a * b), {"a": a, "pair": (b, a)})()
    assert float(value) == 8.0
    assert set(gradients) == {"a", "pair"}
    assert float(gradients["a"]) == 4.0
    assert float(gradients["pair"][1]) == 4.0
    np.testing.assert_array_equal(gradients["pair"][0], [2.0, 2.0])
    _, single = value_and_grad(lambda: a**2, a)()
    assert float(single) == 4.0
    _, tracked = value_and_grad(lambda: a**2, TrackedList([a]))()
    assert [float(g) for g in tracked] == [4.0]


def test_gradients_of_unused_variables_are_zero():
    used, unused = keras.Variable(2.0), keras.Variable(np.ones((2, 3), "float32"))
    _, (_, gradient) = value_and_grad(lambda: used**2, [used, unused])()
    np.testing.assert_array_equal(gradient, np.zeros((2, 3)))


def test_gradients_have_the_dtype_of_their_variable_under_mixed_precision():
    layer = keras.layers.Dense(3, dtype="mixed_bfloat16")
    layer.build((None, 5))
    x = np.ones((2, 5), "float32")
    value, gradients = value_and_grad(lambda: keras.ops.mean(layer(x) ** 2), layer.trainable_variables)()
    assert value.dtype == jnp.bfloat16
    assert [g.dtype for g in gradients] == [jnp.float32, jnp.float32]


def test_an_assignment_is_seen_by_later_reads_and_written_once():
    weight, count = keras.Variable(3.0), keras.Variable(0, dtype="int32", trainable=False)

    def loss():
        count.assign_add(1)
        count.assign_add(1)
        return weight * keras.ops.cast(count, "float32")

    value, gradient = value_and_grad(loss, weight)()
    assert (float(value), float(gradient), int(count.value)) == (6.0, 2.0, 2)
    value_and_grad(loss, weight)()
    assert int(count.value) == 4


def test_aux_may_hold_anything():
    weight = keras.Variable(2.0)

    def loss():
        return weight**2, {"w": weight.value * 1, "name": "x", "n": 3, "none": None, "variable": weight}

    (value, aux), gradient = value_and_grad(loss, weight, has_aux=True)()
    assert (float(value), float(gradient), float(aux["w"])) == (4.0, 4.0, 2.0)
    assert not isinstance(aux["w"], jax.core.Tracer)
    assert (aux["name"], aux["n"], aux["none"]) == ("x", 3, None)
    assert aux["variable"] is weight


def test_variables_given_by_a_function_may_be_created_by_the_call(batch):
    model = keras.Sequential(
        [keras.layers.Dense(4, "relu"), keras.layers.BatchNormalization(), keras.layers.Dense(3)]
    )
    gradients_of = value_and_grad(
        lambda x: keras.ops.mean(model(x, training=True) ** 2), lambda: model.trainable_variables
    )
    _, gradients = gradients_of(batch[0])
    assert [g.shape for g in gradients] == [v.shape for v in model.trainable_variables]
    assert len(gradients) == 6
    mean = np.asarray(model.layers[1].moving_mean.value)
    assert np.abs(mean).max() > 0
    _, again = gradients_of(batch[0])
    assert_all_close(again, gradients)


def test_without_variables_the_first_argument_is_differentiated():
    weight = keras.Variable(3.0)
    seen = keras.Variable(0.0, trainable=False)

    def loss(inputs, scale):
        seen.assign(weight * scale)
        return keras.ops.sum(inputs["x"] ** 2) * weight * scale

    value, gradient = value_and_grad(loss)({"x": jnp.array([1.0, 2.0])}, 2.0)
    assert float(value) == 30.0
    np.testing.assert_array_equal(gradient["x"], [12.0, 24.0])
    assert float(seen.value) == 6.0


def test_it_nests_for_second_derivatives():
    weight = keras.Variable(3.0)

    def penalty():
        _, gradient = value_and_grad(lambda: weight**3, weight)()
        return gradient**2

    value, gradient = value_and_grad(penalty, weight)()
    assert float(value) == 27.0**2
    assert float(gradient) == pytest.approx(2 * 27.0 * 18.0)


def test_it_nests_over_an_inner_derivative_of_an_argument():
    weight = keras.Variable(3.0)

    def penalty(x):
        _, gradient = value_and_grad(lambda x: weight * x**2)(x)
        return gradient**2

    value, gradient = value_and_grad(penalty, weight)(2.0)
    assert float(value) == 144.0
    assert float(gradient) == 96.0


def test_inside_a_mapped_replica_the_gradients_stay_local():
    weight = keras.Variable(2.0)
    mesh = jax.make_mesh((8,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    per_replica = PartitionSpec("replica")

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=(PartitionSpec(), per_replica), out_specs=per_replica, check_vma=False)
    def replica(w, x):
        with keras.StatelessScope([(weight, w)]):
            _, gradient = value_and_grad(lambda: keras.ops.sum(weight**2 * x), weight)()
        return gradient[None]

    np.testing.assert_array_equal(replica(jnp.float32(2.0), jnp.arange(8.0)), 4.0 * np.arange(8))


def test_a_loss_that_raises_changes_no_variable():
    weight, seen = keras.Variable(2.0), keras.Variable(0.0, trainable=False)

    def loss():
        seen.assign(1.0)
        raise RuntimeError("broken step")

    with pytest.raises(RuntimeError, match="broken step"):
        value_and_grad(loss, weight)()
    assert float(seen.value) == 0.0
    assert _gradients.get_stateless_scope() is None


def test_an_assignment_inside_a_scan_is_refused():
    weight, seen = keras.Variable(2.0), keras.Variable(0.0, trainable=False)

    def loss():
        def body(carry, x):
            seen.assign(carry)
            return carry * weight.value + x, None

        return jax.lax.scan(body, 1.0, jnp.arange(3.0))[0]

    with pytest.raises(errors.TracingError, match="was assigned inside a JAX transformation"):
        value_and_grad(loss, weight)()


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: value_and_grad(3.0), errors.BadTypeError, "Expected: a callable that returns a scalar loss"),
        (
            lambda: value_and_grad(abs, [1.0]),
            errors.BadTypeError,
            r"no variable.*Received: 1\.0 of type float",
        ),
        (
            lambda: value_and_grad(abs, keras.Variable(1, dtype="int32")),
            errors.BadTypeError,
            "Expected: a floating point dtype. Received: dtype='int32'",
        ),
        (
            lambda: value_and_grad(lambda: None, [])(),
            errors.BadTypeError,
            "has to return its loss.*loss=None",
        ),
        (lambda: value_and_grad(lambda: 3, [])(), errors.BadTypeError, "Received: dtype=int32"),
        (
            lambda: value_and_grad(lambda: jnp.ones(3), [])(),
            errors.BadArgumentError,
            r"not a scalar. Expected: shape=\(\). Received: shape=\(3,\)",
        ),
        (
            lambda: value_and_grad(lambda: jnp.ones(()), [], has_aux=True)(),
            errors.BadArgumentError,
            r"has to return a pair. Expected: \(loss, aux\)",
        ),
        (lambda: value_and_grad(lambda x: x)(x=1.0), errors.BadTypeError, "at least one positional argument"),
    ],
)
def test_bad_input_is_named(make, error, match):
    with pytest.raises(error, match=match):
        make()
