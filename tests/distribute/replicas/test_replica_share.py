"""Variables with an aggregation that replicas assign and look at in the same step: TensorFlow's values."""

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import jaxprs
from stratax.core.functions import functions_run_eagerly, run_functions_eagerly
from stratax.core.state import IndexedSlices
from stratax.distribute import MirroredStrategy, get_replica_context


@pytest.fixture(scope="module")
def two():
    return MirroredStrategy(["/cpu:0", "/cpu:1"])


@pytest.fixture(params=["compiled", "in_python"])
def each_way(request):
    before = functions_run_eagerly()
    run_functions_eagerly(request.param == "in_python")
    yield
    run_functions_eagerly(before)


def index():
    return jnp.asarray(get_replica_context().replica_id_in_sync_group, "float32")


def variable(strategy, aggregation, initial=0.0, **options):
    with strategy.scope():
        return sx.Variable(initial, aggregation=aggregation, **options)


def seen(strategy, function, *args):
    result = sx.function(lambda: strategy.run(function, args=args))()
    return [np.asarray(each).tolist() for each in strategy.experimental_local_results(result)]


# The values that TensorFlow 2.21 gives, with a MirroredStrategy of two devices.


@pytest.mark.usefixtures("each_way")
def test_what_is_computed_of_an_assigned_variable_is_computed_of_the_value_of_all(two):
    total, mean = variable(two, "sum"), variable(two, "mean", 1.0)

    def step():
        total.assign_add(index() + 1)  # 3
        total.assign(total + total)  # 6 + 6
        mean.assign_sub(index())  # 1 - 0.5
        return total.value, mean.value * (index() + 1)

    result = sx.function(lambda: two.run(step))()
    assert [float(each) for each in two.experimental_local_results(result[0])] == [12, 12]
    assert [float(each) for each in two.experimental_local_results(result[1])] == [0.5, 1.0]
    assert (float(total.value), float(mean.value)) == (12, 0.5)


@pytest.mark.parametrize("length", [3, jnp.int32(3)])
def test_a_loop_looks_at_the_value_of_all_in_every_iteration(two, length):
    total, mean = variable(two, "sum"), variable(two, "mean", 1.0)

    def step(length):
        for _ in sx.range(length):
            total.assign_add(index() + 1)
            mean.assign(mean * 0.5 + total)
        return mean.value

    assert seen(two, step, length) == [12.875, 12.875]
    assert float(total.value) == 9


def test_a_while_loop_ends_on_all_replicas_by_the_value_of_all(two):
    total = variable(two, "sum")

    def step():
        while total < 10.0:
            total.assign_add(index() + 1)
        return total.value

    assert seen(two, step) == [12, 12]


def test_a_branch_that_all_replicas_take_looks_at_the_value_of_all(two):
    total = variable(two, "sum")

    def step(x):
        seen = 0.0
        if x > 0:
            total.assign_add(index() + 1)
            seen = total * 1.0
        return seen

    assert seen(two, step, jnp.float32(1)) == [3, 3]
    assert seen(two, step, jnp.float32(-1)) == [0, 0]
    assert float(total.value) == 3


def test_replicas_that_take_different_ways_to_a_look_raise_and_do_not_hang(two):
    total = variable(two, "sum", 5.0)

    def branch():
        seen = 0.0
        if index() > 0:
            total.assign_add(1.0)
            seen = total * 1.0
        return seen

    def loop():
        i = index()
        while i < 3:
            total.assign_add(1.0)
            i += total - total + 1
        return i

    for step in (branch, loop):
        with pytest.raises(errors.BadArgumentError, match="take different ways"):
            seen(two, step)
    assert float(total.value) == 5


def test_replicas_may_take_different_ways_where_nobody_looks(two):
    total = variable(two, "sum")

    def step():
        i = index()
        while i < 3:
            total.assign_add(1.0)
            i += 1
        if index() > 0:
            total.assign_add(10.0)
        return total.value

    assert seen(two, step) == [15, 15]


@pytest.mark.usefixtures("each_way")
def test_what_merge_call_assigns_is_the_value_of_all(two):
    total = variable(two, "sum")

    def merge(strategy, x):
        del strategy, x
        before = total + 0.0
        total.assign(5.0)
        return before + 10 * total

    def step():
        total.assign_add(index() + 1)
        return get_replica_context().merge_call(merge, args=(1.0,)) + 100 * total

    assert seen(two, step) == [553, 553]


def test_a_gradient_is_that_of_the_replicas_own_loss(two):
    total, mean = variable(two, "sum"), variable(two, "mean", 2.0)

    def with_tape():
        total.assign_add(index() + 1)
        with sx.GradientTape() as tape:
            tape.watch(total.value)
            loss = total * total * (index() + 1)
        return tape.gradient(loss, total)

    def inside():
        def loss():
            mean.assign_add(index())
            return mean * (index() + 1)

        return sx.value_and_grad(loss, [mean])()[1][0]

    def sum_inside():
        def loss():
            total.assign_add(1.0)
            return total * (index() + 1)

        return sx.value_and_grad(loss, [total])()[1][0]

    assert seen(two, with_tape) == [6, 12]
    assert seen(two, inside) == [1, 2]
    assert seen(two, sum_inside) == [1, 2]


SCATTERED = {
    ("scatter_add", "sum"): [6, 11, 3],
    ("scatter_add", "mean"): [3.5, 6.5, 3],
    ("scatter_add", "only_first_replica"): [3, 6, 3],
    ("scatter_sub", "sum"): [-4, -7, 3],
    ("scatter_sub", "mean"): [-1.5, -2.5, 3],
    ("scatter_mul", "sum"): [6, 40, 3],
    ("scatter_mul", "mean"): [1.5, 10, 3],
    ("scatter_mul", "only_first_replica"): [2, 8, 3],
    ("scatter_div", "sum"): [1 / 6, 0.1, 3],
    ("scatter_div", "mean"): [2 / 3, 0.4, 3],
    ("scatter_div", "only_first_replica"): [0.5, 0.5, 3],
    ("scatter_max", "only_first_replica"): [2, 4, 3],
    ("scatter_min", "only_first_replica"): [1, 2, 3],
    ("scatter_update", "only_first_replica"): [2, 4, 3],
}


@pytest.mark.parametrize(("name", "aggregation"), SCATTERED)
def test_an_update_of_rows_is_that_of_all_replicas(two, name, aggregation):
    v = variable(two, aggregation, [1.0, 2.0, 3.0])

    def step():
        rows = IndexedSlices(jnp.stack([index() + 2, index() + 4]), jnp.array([0, 1]))
        return jnp.asarray(getattr(v, name)(rows))

    expected = SCATTERED[name, aggregation]
    np.testing.assert_allclose(seen(two, step), [expected, expected], rtol=1e-6)
    np.testing.assert_allclose(v.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["scatter_max", "scatter_min", "scatter_update"])
@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_rows_that_replace_others_have_no_sum(two, name, aggregation):
    v = variable(two, aggregation, [1.0, 2.0, 3.0])
    rows = IndexedSlices(jnp.ones(1), jnp.array([0]))
    with pytest.raises(NotImplementedError, match=f"rows can't be combined.*aggregation='{aggregation}'"):
        two.run(lambda: getattr(v, name)(rows))


def test_whole_numbers_have_no_mean_but_what_is_equal_everywhere(two):
    with pytest.raises(
        ValueError, match="of whole numbers can't be the replicas' mean.*aggregation='mean', dtype=int32"
    ):
        variable(two, "mean", 3)
    # Made outside of a scope, as TensorFlow makes it without a word.
    v = sx.Variable(3, aggregation="mean")
    two.run(lambda: v.assign(7))
    assert int(v.value) == 7
    with pytest.raises(ValueError, match="whole numbers can't be assigned the replicas' mean"):
        two.run(lambda: v.assign_add(get_replica_context().replica_id_in_sync_group))


def collectives(jaxpr):
    return sum(equation.primitive.name.startswith("psum") for equation in jaxprs.walk_nested(jaxpr))


def test_one_collective_combines_all_variables_that_nobody_looks_at(two):
    kinds = ("sum", "mean", "only_first_replica")
    assigned = [variable(two, kind, np.zeros(size)) for kind in kinds for size in (1, 2)]
    with two.scope():
        metric = keras.metrics.Mean()

    def step(looks):
        for v in assigned:
            v.assign_add(jnp.ones(v.shape) * index())
            v.assign_sub(jnp.ones(v.shape))
        for _ in sx.range(3):
            assigned[0].assign_add(jnp.ones(1))
        metric.update_state([1.0])
        for v in assigned[:looks]:
            assigned[-1].assign_add(jnp.ones(2) * v.value[0])
            v.value  # noqa: B018 (a second look costs nothing)

    for looks in (0, 1, 2):
        program = sx.function(lambda looks: two.run(step, args=(looks,))).jaxpr(looks)
        assert collectives(program.jaxpr) == 1 + looks
