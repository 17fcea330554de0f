import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax import core, errors
from stratax.core import jaxprs


def count_conditions(function, *args):
    return sum(each.primitive.name == "cond" for each in jaxprs.walk_nested(function.jaxpr(*args).jaxpr))


def test_a_condition_on_an_array_chooses_when_the_program_runs():
    traced = []

    @core.function
    def run(x):
        traced.append(1)
        if x > 0:
            y = x * 2
        elif x < -10:
            y = x
        else:
            y = -1
        return y

    assert [float(run(jnp.float32(x))) for x in (3, -20, -5)] == [6.0, -20.0, -1.0]
    assert len(traced) == 1
    assert count_conditions(run, jnp.float32(1.0)) == 2


def test_a_condition_that_python_can_decide_stays_pythons():
    @core.function
    def run(x, training=False, scale=None):
        if training and scale is not None:
            x = x * scale
        return x if not training else -x

    assert float(run(jnp.float32(2.0))) == 2.0
    assert float(run(jnp.float32(2.0), True, 3.0)) == -6.0
    assert count_conditions(run, jnp.float32(1.0)) == 0


def test_variables_are_written_by_the_branch_that_runs_only():
    up, down = core.Variable(0.0), core.Variable(0.0)

    @core.function
    def run(x):
        if x > 0:
            up.assign_add(x)
        else:
            down.assign_sub(x)
            up.assign(up * 10)
        return up + down

    assert float(run(jnp.float32(2.0))) == 2.0
    assert float(run(jnp.float32(-3.0))) == 23.0
    assert (float(up.value), float(down.value)) == (20.0, 3.0)


def test_a_training_step_may_stand_in_a_branch():
    keras.utils.set_random_seed(0)
    layer = keras.layers.Dense(1)
    optimizer = keras.optimizers.Adam(0.1)
    x = np.ones((4, 2), "float32")

    @core.function
    def step(go):
        if go:
            loss, gradients = core.value_and_grad(
                lambda: keras.ops.mean(layer(x) ** 2), lambda: layer.trainable_variables
            )()
            optimizer.apply_gradients(zip(gradients, layer.trainable_variables, strict=True))
        else:
            loss = 0.0
        return loss

    assert float(step(np.bool_(False))) == 0.0
    before = np.asarray(layer.kernel.value)
    assert float(step(np.bool_(True))) > 0.0
    assert int(optimizer.iterations) == 1
    assert not np.allclose(before, layer.kernel.value)


def test_structures_come_out_of_branches():
    @core.function
    def run(x):
        if x > 0:
            result = {"a": x, "b": (1, [x])}
        else:
            result = {"a": -x, "b": (2, [x * 2])}
        return result

    result = run(jnp.float32(-1.0))
    assert (float(result["a"]), int(result["b"][0]), float(result["b"][1][0])) == (1.0, 2, -2.0)


def test_python_numbers_take_the_dtype_of_the_other_branch():
    @core.function
    def run(x):
        if x > 0:
            y = x
        else:
            y = 0
        return y

    assert run(jnp.bfloat16(-1.0)).dtype == jnp.bfloat16


def test_early_returns_are_conditions():
    @core.function
    def run(x):
        if x > 10:
            return x
        x = x * 2
        if x > 10:
            return -x
        return x + 0.5

    assert [float(run(jnp.float32(x))) for x in (11, 6, 1)] == [11.0, -12.0, 2.5]


def test_boolean_operators_work_on_arrays():
    @core.function
    def run(x, y):
        both = x > 0 and y > 0
        either = x > 0 or y > 0
        return both, either, not both, 0 < x < y

    assert [bool(value) for value in run(jnp.float32(1.0), jnp.float32(2.0))] == [True, True, False, True]
    assert [bool(value) for value in run(jnp.float32(1.0), jnp.float32(-1.0))] == [False, True, True, False]


def test_boolean_operators_of_python_values_keep_pythons_meaning():
    @core.function
    def run(x):
        nothing, empty, zero, calls = None, [], 0, []
        result = (nothing or empty or "last", zero and calls.append(1), not calls)
        return result, x

    assert run(jnp.float32(0.0))[0] == ("last", 0, True)


def test_conditional_expressions_work_on_arrays():
    @core.function
    def run(x):
        return (x * 2 if x > 0 else -x), ("python" if x is not None else "none")

    value, text = run(jnp.float32(-3.0))
    assert (float(value), text) == (3.0, "python")


def test_an_integer_condition_is_true_if_it_is_not_zero():
    @core.function
    def run(n):
        return 1 if n else 2

    assert [int(run(jnp.int32(n))) for n in (0, 3)] == [2, 1]


def test_a_local_that_one_branch_assigns_has_no_value_afterwards():
    @core.function
    def run(x, use):
        if x > 0:
            y = x
        return y if use else x

    assert float(run(jnp.float32(1.0), False)) == 1.0
    with pytest.raises(
        UnboundLocalError, match="'y' is used before it has a value. It was assigned in one branch only"
    ):
        run(jnp.float32(1.0), True)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (
            lambda x: x,
            lambda x: jnp.ones(3),
            r"local variable 'y' differs between the branches.*float32\[\].*float32\[3\]",
        ),
        (lambda x: x, lambda x: jnp.int32(1), r"differs between the branches.*float32\[\].*int32\[\]"),
        (lambda x: {"a": x}, lambda x: x, "structure of local variable 'y' differs between the branches"),
        (
            lambda x: "one",
            lambda x: "two",
            "Local variable 'y' is not an array and differs between the branches",
        ),
    ],
)
def test_a_local_of_different_types_is_named(left, right, message):
    @core.function
    def run(x):
        if x > 0:
            y = left(x)
        else:
            y = right(x)
        return y

    with pytest.raises(errors.TracingError, match=message):
        run(jnp.float32(1.0))


def test_a_condition_of_many_elements_says_how_to_reduce_it():
    @core.function
    def run(x):
        if x > 0:
            x = -x
        return x

    with pytest.raises(errors.TracingError, match=r"condition of `if` has more than one element.*bool\[2\]"):
        run(jnp.ones(2))
    assert float(run(jnp.ones(1))[0]) == -1.0


def test_a_return_in_one_branch_only_says_so():
    @core.function
    def run(x):
        if x > 0:
            return x

    with pytest.raises(
        errors.TracingError, match="'run' returns a value only if a condition on an array holds"
    ):
        run(jnp.float32(1.0))


def test_a_tape_around_a_condition_differentiates_the_branch_that_runs():
    weight = core.Variable(3.0)

    @core.function
    def run(x):
        with core.GradientTape() as tape:
            if x > 0:
                y = x * weight**2
            else:
                y = weight
        return tape.gradient(y, weight)

    assert [float(run(jnp.float32(x))) for x in (2.0, -1.0)] == [12.0, 1.0]
    assert jax.numpy.shape(run(jnp.float32(1.0))) == ()
