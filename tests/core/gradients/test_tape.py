import gc
import weakref

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
from keras.src.backend.common.stateless_scope import get_stateless_scope

from stratax import errors
from stratax.core import GradientTape, UnconnectedGradients, regions, storage
from stratax.seams.keras import find_uninitialized_variables


@pytest.fixture
def x():
    return jnp.array([1.0, 2.0, 3.0])


def test_the_gradient_of_a_watched_array(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(tape.gradient(y, x), 2 * x)


def test_sources_and_targets_may_be_nested_structures(x):
    with GradientTape() as tape:
        tape.watch({"a": x, "b": (x,)})
        z = x * 2
        targets = [jnp.sum(x * z), {"t": z}]
    gradients = tape.gradient(targets, {"a": x, "b": (z, [x])})
    np.testing.assert_array_equal(gradients["a"], 4 * x + 2)
    np.testing.assert_array_equal(gradients["b"][0], x + 1)
    np.testing.assert_array_equal(gradients["b"][1][0], 4 * x + 2)


def test_output_gradients_flow_into_the_target(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x * x, 3 * x
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=x), 2 * x * x)
    np.testing.assert_array_equal(tape.gradient([y, z], x, output_gradients=[x, None]), 2 * x * x + 3)
    np.testing.assert_array_equal(tape.gradient([y], x, [np.ones(3)]), 2 * x)


def test_trainable_variables_are_watched_when_read():
    v = keras.Variable(3.0)
    frozen = keras.Variable(2.0, trainable=False)
    with GradientTape() as tape:
        y = v * v * frozen
    assert tape.watched_variables() == (v,)
    gradients = tape.gradient(y, [v, frozen])
    assert float(gradients[0]) == 12.0
    assert gradients[1] is None
    assert get_stateless_scope() is None
    assert not storage.read_listeners()


def test_watching_by_hand_covers_variables_that_are_not_trainable():
    v, frozen = keras.Variable(3.0), keras.Variable(2.0, trainable=False)
    with GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(frozen)
        y = v * frozen * frozen
    assert tape.watched_variables() == (frozen,)
    gradients = tape.gradient(y, [v, frozen])
    assert gradients[0] is None
    assert float(gradients[1]) == 12.0


def test_a_variable_read_several_times_and_assigned_between_sums_its_gradients():
    v = keras.Variable(3.0)
    with GradientTape() as tape:
        y = v * v
        v.assign(5.0)
        y = y + v * 2.0
    assert float(v.value) == 5.0
    assert float(tape.gradient(y, v)) == 8.0


def test_an_eager_assignment_cuts_the_gradient_as_in_tensorflow():
    v, w = keras.Variable(3.0), keras.Variable(2.0)
    with GradientTape() as tape:
        v.assign(w * 2.0)
        y = v * v
    gradients = tape.gradient(y, [v, w])
    assert float(gradients[0]) == 8.0
    assert gradients[1] is None


def test_two_variables_that_share_an_array_keep_their_gradients_apart():
    a, b = keras.Variable(3.0), keras.Variable(1.0)
    b._value = a._value
    with GradientTape() as tape:
        y = a * a + 5.0 * b
        y = y + b
    gradients = tape.gradient(y, [a, b])
    assert [float(g) for g in gradients] == [6.0, 6.0]


def test_unconnected_sources_give_none_or_zeros(x):
    v = keras.Variable(np.ones((2,), "float32"))
    for mode in ("zero", UnconnectedGradients.ZERO):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        gradient = tape.gradient(y, [x, v], unconnected_gradients=mode)
        np.testing.assert_array_equal(gradient[1], [0.0, 0.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, [v, jnp.ones(2)]) == [None, None]
    with GradientTape() as tape:
        y = jnp.ones(3) * 2
    np.testing.assert_array_equal(tape.gradient(y, x, unconnected_gradients="zero"), [0, 0, 0])


def test_operations_without_slope_disconnect(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x + jnp.floor(x) * 3 + jax.lax.stop_gradient(x) * 5
        index = jnp.argmax(x)
        y = y * index.astype("float32")
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 2.0, 2.0])


def test_a_persistent_tape_gives_gradients_again_and_in_its_own_block(x):
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
    np.testing.assert_allclose(first, 3 * x * x)
    np.testing.assert_allclose(second, 6 * x)
    np.testing.assert_allclose(tape.gradient(y, x), first)


def test_nested_tapes_give_second_derivatives(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = jnp.sum(jnp.sin(x))
        slope = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(slope, x), -jnp.sin(x), rtol=1e-6)


def test_nested_tapes_over_a_variable():
    v = keras.Variable(3.0)
    with GradientTape() as outer:
        with GradientTape() as inner:
            y = v * v * v
        slope = inner.gradient(y, v)
    assert float(slope) == 27.0
    assert float(outer.gradient(slope, v)) == 18.0


def test_the_gradient_of_a_value_of_the_outer_tape(x):
    with GradientTape() as outer:
        outer.watch(x)
        with GradientTape() as inner:
            inner.watch(x)
            y = x**3
        penalty = jnp.sum(inner.gradient(y, x) ** 2) + jnp.sum(y)
    np.testing.assert_allclose(outer.gradient(penalty, x), 36 * x**3 + 3 * x**2, rtol=1e-6)


def test_nothing_is_recorded_inside_stop_recording(x):
    v = keras.Variable(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            hidden = x * 10
            read = v.value * 1.0
        y = x * 2 + hidden + read
    assert tape.watched_variables() == ()
    np.testing.assert_array_equal(tape.gradient(y, x), [2, 2, 2])


def test_reset_forgets_what_was_watched(x):
    v = keras.Variable(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        y = jnp.sum(x * v)
        tape.reset()
        z = jnp.sum(x * 3) * v
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, v) is None
    assert float(jnp.sum(z)) == 36.0


def test_a_reset_tape_records_what_follows(x):
    v = keras.Variable(2.0)
    with GradientTape() as tape:
        tape.watch(x)
        tape.reset()
        z = jnp.sum(x * 3) * v
    assert float(tape.gradient(z, v)) == 18.0


def test_a_tape_that_is_entered_again_goes_on(x):
    tape = GradientTape()
    with tape:
        tape.watch(x)
        y = x * 2
    with tape:
        z = y * x
    np.testing.assert_array_equal(tape.gradient(z, x), 4 * x)
    with tape:
        tape.watch(x)
        y = x * 5
    np.testing.assert_array_equal(tape.gradient(y, x), [5, 5, 5])


def test_the_jacobian_and_its_rows_one_by_one(x):
    v = keras.Variable(2.0)
    for at_once in (True, False):
        with GradientTape() as tape:
            tape.watch(x)
            y = jnp.outer(x, x) * v
        rows = tape.jacobian(y, {"x": x, "v": [v], "none": jnp.ones(2)}, experimental_use_pfor=at_once)
        np.testing.assert_allclose(rows["x"], jax.jacrev(lambda x: jnp.outer(x, x) * 2.0)(x))
        np.testing.assert_allclose(rows["v"][0], jnp.outer(x, x))
        assert rows["none"] is None


def test_the_batch_jacobian_is_each_examples_own():
    x = jnp.arange(6.0).reshape(3, 2) + 1
    w = jnp.arange(8.0).reshape(2, 4)
    with GradientTape() as tape:
        tape.watch(x)
        y = (x @ w) ** 2
    expected = jax.vmap(jax.jacrev(lambda row: (row @ w) ** 2))(x)
    np.testing.assert_allclose(tape.batch_jacobian(y, x), expected)
    with GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
    zeros = tape.batch_jacobian(y, jnp.ones((3, 5)), unconnected_gradients="zero")
    assert zeros.shape == (3, 2, 5)


def test_mixed_dtypes_give_gradients_of_the_sources_dtypes(x):
    half = jnp.ones(3, jnp.bfloat16)
    with GradientTape() as tape:
        tape.watch((x, half))
        y = jnp.sum(x.astype(jnp.bfloat16) * half).astype(jnp.float32)
    gradients = tape.gradient(y, [x, half])
    assert [g.dtype for g in gradients] == [jnp.float32, jnp.bfloat16]


def test_a_layer_built_under_the_tape_behaves_as_in_eager_keras():
    model = keras.Sequential([
        keras.layers.Dense(4, activity_regularizer="l2"),
        keras.layers.BatchNormalization(),
        keras.layers.Dropout(0.5, seed=1),
    ])  # fmt: skip
    x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")
    with GradientTape() as tape:
        y = model(x, training=True)
        seed = np.asarray(model.layers[2].seed_generator.state.value)
        y = model(x, training=True)
        loss = keras.ops.mean(y**2) + sum(model.losses)
        assert len(model.losses) == 1
    gradients = tape.gradient(loss, model.trainable_variables)
    assert all(g is not None for g in gradients)
    assert np.abs(model.layers[1].moving_mean.value).max() > 0
    assert not np.array_equal(seed, model.layers[2].seed_generator.state.value)
    assert find_uninitialized_variables() == []


def test_what_the_tape_does_not_need_is_freed(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x + 1.0
        dead = weakref.ref(y)
        y = y + 1.0
        gc.collect()
        assert dead() is None
        z = jnp.sin(jnp.ones(3) * 2)
        assert len(tape._records) == 2
    np.testing.assert_array_equal(tape.gradient([y, y * 1 + z], x, unconnected_gradients="none"), [1, 1, 1])
    assert tape._records == []


def test_an_exception_inside_the_block_leaves_nothing_behind(x):
    tape = GradientTape()
    with pytest.raises(RuntimeError, match="boom"), tape:
        raise RuntimeError("boom")
    assert get_stateless_scope() is None
    assert not storage.read_listeners()
    assert type(regions.current_trace()).__name__ == "EvalTrace"
    with tape:
        tape.watch(x)
        y = x * 2
    np.testing.assert_array_equal(tape.gradient(y, x), [2, 2, 2])


def test_a_spent_tape_says_so(x):
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(errors.TapeError, match="can compute only one set of gradients"):
        tape.gradient(y, x)
    with pytest.raises(errors.TapeError, match="can compute only one set of gradients"):
        tape.jacobian(y, x)


@pytest.mark.parametrize(
    "target", [lambda x: x * 2, lambda x: jnp.argmax(x), lambda x: jax.lax.stop_gradient(x)]
)
def test_a_target_that_was_not_recorded_depends_on_nothing(x, target):
    with GradientTape(persistent=True) as tape:
        if target(x).dtype != jnp.float32:
            tape.watch(x)
        y = target(x)
    assert tape.gradient(y, x) is None
    assert tape.gradient([y], {"a": x}) == {"a": None}
    np.testing.assert_array_equal(tape.gradient(y, x, unconnected_gradients="zero"), [0, 0, 0])
    assert tape.jacobian(y, x) is None


def test_a_variable_depends_on_itself_also_if_nothing_read_it(x):
    v = keras.Variable([2.0, 3.0])
    with GradientTape(persistent=True) as tape:
        pass
    gradients = tape.gradient([v, x, v], [x, v], output_gradients=[v.value, None, None])
    assert gradients[0] is None
    np.testing.assert_array_equal(gradients[1], [3, 4])
    np.testing.assert_array_equal(tape.jacobian(v, v), np.eye(2))


def test_whole_numbers_are_watched_with_a_warning(caplog):
    whole, v = jnp.arange(2), keras.Variable(3, dtype="int32")
    with GradientTape(persistent=True) as tape:
        tape.watch([whole, v])
        y = whole * 2.0 * v
    assert [record.getMessage() for record in caplog.records] == [
        "The dtype of the watched tensor must be floating (e.g. tf.float32), got int32"
    ] * 2
    assert tape.watched_variables() == (v,)
    assert tape.gradient(y, [whole, v]) == [None, None]
    zero = tape.gradient(y, whole, unconnected_gradients="zero")
    assert zero.dtype == whole.dtype


def test_a_batch_jacobian_of_what_is_not_connected_is_zero():
    x = jnp.ones((2, 1))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
    assert np.array_equal(tape.batch_jacobian(jnp.ones((2, 3)), x), np.zeros((2, 3, 1)))


def test_an_operation_without_derivative_fails_only_when_the_gradient_passes_it(x):
    def called_back(a):
        return jax.pure_callback(lambda b: np.asarray(b) * 2, jax.ShapeDtypeStruct((3,), jnp.float32), a)

    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * 3
        z = called_back(x)
    np.testing.assert_array_equal(z, x * 2)
    np.testing.assert_array_equal(tape.gradient(y, x), [3, 3, 3])
    with pytest.raises(errors.TapeError, match="'pure_callback', which has no reverse-mode derivative"):
        tape.gradient(z, x)


def test_misuse_is_named(x):
    tape = GradientTape()
    with tape, pytest.raises(errors.TapeError, match="was entered while it was recording"):
        tape.__enter__()
    with pytest.raises(
        errors.TapeError, match=r"`tape\.watch` was called on a GradientTape that is not recording"
    ):
        tape.watch(x)
    with pytest.raises(errors.TapeError, match=r"`tape\.stop_recording` was called"), tape.stop_recording():
        pass
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(errors.BadTypeError, match=r"can't follow.*Received: 3\.0 of type float"):
            tape.watch(3.0)
    with pytest.raises(errors.BadTypeError, match="nothing to differentiate"):
        tape.gradient(None, x)
    with pytest.raises(errors.TapeError, match="which was never entered"):
        GradientTape(persistent=True).gradient(y, x)
    with pytest.raises(errors.BadTypeError, match="source of a GradientTape is neither.*of type ndarray"):
        tape.gradient(y, np.ones(3))
    with pytest.raises(
        errors.BadTypeError, match=r"target of a GradientTape's derivative is not an array.*2\.0"
    ):
        tape.gradient(2.0, x)
    with pytest.raises(errors.BadArgumentError, match="'none', 'zero'.*unconnected_gradients='ones'"):
        tape.gradient(y, x, unconnected_gradients="ones")
    with pytest.raises(errors.StructureError, match=r"arrays of shapes \[\(3,\)\]"):
        tape.gradient(y, x, output_gradients=jnp.ones(4))
    with pytest.raises(errors.StructureError, match="does not match the target"):
        tape.gradient({"y": y}, x, output_gradients=jnp.ones(3))
    with pytest.raises(errors.StructureError, match="the same first dimension"):
        tape.batch_jacobian(y, jnp.ones((2, 2)))


def test_an_assignment_inside_a_scan_under_an_eager_tape_is_refused():
    v = keras.Variable(0.0, trainable=False)

    def body(carry, element):
        v.assign(carry)
        return carry + element, None

    with GradientTape(), pytest.raises(errors.TracingError, match="was assigned inside a JAX transformation"):
        jax.lax.scan(body, 0.0, jnp.arange(3.0))
    assert float(v.value) == 0.0
