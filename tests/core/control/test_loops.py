import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from stratax import core, errors
from stratax.core import control, jaxprs, regions


class ListStream(core.Stream):
    """A stream over a list of arrays."""

    def __init__(self, arrays):
        self.arrays = [np.asarray(array, "float32") for array in arrays]
        self.position = 0

    @property
    def signature(self):
        return "ListStream"

    def peek_runs(self, skip, count):
        coming = self.arrays[self.position + skip : self.position + skip + count]
        if len(coming) < count:
            raise core.OutOfRangeError(f"{count} elements were asked for, {len(coming)} are left")
        runs = []
        for array in coming:
            structure = jax.ShapeDtypeStruct(array.shape, array.dtype)
            if runs and runs[-1][0] == structure:
                runs[-1] = (structure, runs[-1][1] + 1)
            else:
                runs.append((structure, 1))
        return runs

    def take(self):
        self.position += 1
        return jnp.asarray(self.arrays[self.position - 1])

    def peek_up_to(self, skip, count):
        return self.peek_runs(skip, max(0, min(count, len(self.arrays) - self.position - skip)))

    def pass_over(self, count):
        self.position += count

    def peek_block(self, skip, count, capacity):
        rows = self.arrays[self.position + skip : self.position + skip + count]
        return jnp.asarray(np.stack(rows + [np.zeros_like(rows[0])] * (capacity - count)))


def rows(count, tail=()):
    return [np.full((4,), index) for index in range(count)] + [np.full((2,), value) for value in tail]


def count_loops(function, *args):
    names = [equation.primitive.name for equation in jaxprs.walk_nested(function.jaxpr(*args).jaxpr)]
    return {name: names.count(name) for name in ("scan", "while", "cond")}


class Training:
    """A small model with everything that has state: dropout, batch statistics, slots, a metric."""

    def __init__(self):
        keras.utils.set_random_seed(3)
        self.model = keras.Sequential(
            [
                keras.layers.Dense(6, activation="relu", kernel_regularizer="l2"),
                keras.layers.Dropout(0.5),
                keras.layers.BatchNormalization(),
                keras.layers.Dense(1),
            ]
        )
        self.optimizer = keras.optimizers.Adam(0.01)
        self.metric = keras.metrics.Mean()
        self.x = np.random.default_rng(0).normal(size=(16, 3)).astype("float32")

    def loss(self):
        error = self.model(self.x, training=True) - self.x.sum(1, keepdims=True)
        return keras.ops.mean(error**2) + sum(self.model.losses)

    def step(self, tape):
        variables = lambda: self.model.trainable_variables  # noqa: E731
        if tape:
            with core.GradientTape() as recorder:
                loss = self.loss()
            gradients = recorder.gradient(loss, variables())
        else:
            loss, gradients = core.value_and_grad(self.loss, variables)()
        self.optimizer.apply_gradients(zip(gradients, variables(), strict=True))
        self.metric.update_state(loss)
        return loss

    def values(self):
        variables = [*self.model.variables, *self.optimizer.variables, *self.metric.variables]
        return [np.asarray(variable.value) for variable in variables if variable.dtype != "uint32"]


@pytest.mark.parametrize("tape", [False, True], ids=["value_and_grad", "tape"])
def test_training_steps_in_one_loop_are_those_of_single_calls(tape):
    looped, single = Training(), Training()
    traced = []

    @core.function
    def many(n):
        loss = None
        for _ in core.range(n):
            traced.append(1)
            loss = looped.step(tape)
        return loss

    @core.function
    def one():
        return single.step(tape)

    loss = many(6)
    for _ in range(6):
        expected = one()
    assert len(traced) == 1
    assert count_loops(many, 6)["scan"] == 1
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    for left, right in zip(looped.values(), single.values(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)
    assert int(looped.optimizer.iterations) == 6


def test_losses_added_in_a_loop_do_not_leak():
    training = Training()

    @core.function
    def many():
        for _ in core.range(2):
            training.loss()
        return sum(training.model.losses)

    assert np.isfinite(many())


def test_another_value_of_an_array_bound_needs_no_new_trace():
    @core.function
    def triangle(n):
        total = 0
        for i in core.range(n):
            total += i
        return total

    assert [int(triangle(jnp.int32(n))) for n in (5, 0, 9)] == [10, 0, 36]
    assert triangle.num_programs == 1
    assert count_loops(triangle, jnp.int32(3)) == {"scan": 0, "while": 1, "cond": 0}


@pytest.mark.parametrize("bounds", [(2, 9, 3), (9, 2, -2), (3, 3, 1), (5, 1, 1)])
def test_traced_bounds_count_like_pythons_range(bounds):
    @core.function
    def collect(start, stop, delta):
        total, count = 0, 0
        for i in core.range(start, stop, delta):
            total += i
            count += 1
        return total, count

    total, count = collect(*(jnp.int32(bound) for bound in bounds))
    assert (int(total), int(count)) == (sum(range(*bounds)), len(range(*bounds)))


def test_a_computed_number_of_iterations_compiles():
    @core.function
    def double(x):
        for _ in core.range(x.astype("int32") + 1):
            x = x * 2
        return x

    assert float(double(jnp.float32(2.0))) == 16.0


def test_loops_nest():
    variable = core.Variable(0.0)

    @core.function
    def run(n):
        total = 0
        for i in core.range(3):
            for j in core.range(n):
                variable.assign_add(1.0)
                total += i * j
        return total

    expected = sum(i * j for i in range(3) for j in range(4))
    assert int(run(4)) == expected
    assert int(run(jnp.int32(4))) == expected
    assert float(variable.value) == 24.0
    assert count_loops(run, 4)["scan"] == 2


def test_rows_of_an_array_are_gone_through_in_one_loop():
    @core.function
    def norms(x):
        total = 0.0
        for row in x:
            total += keras.ops.sqrt(keras.ops.sum(row**2))
        return total

    assert float(norms(jnp.array([[3.0, 4.0], [6.0, 8.0]]))) == 15.0
    assert count_loops(norms, jnp.ones((2, 2)))["scan"] == 1
    with pytest.raises(errors.TracingError, match=r"can't go through a scalar.*float32\[\]"):
        norms(jnp.float32(1.0))


def test_break_continue_and_return_end_compiled_loops():
    @core.function
    def run(x):
        for i in core.range(10):
            if i == 2:
                continue
            if x > 50:
                break
            x = x * 2
        return x, i

    x, i = run(jnp.float32(3.0))
    assert (float(x), int(i)) == (96.0, 6)

    @core.function
    def first_above(x, limit):
        for i in core.range(10):
            x = x + i
            if x > limit:
                return x
        return -x

    assert float(first_above(jnp.float32(3.0), 10.0)) == 13.0
    assert float(first_above(jnp.float32(3.0), 1000.0)) == -48.0
    assert count_loops(first_above, jnp.float32(3.0), 10.0)["while"] == 1


def test_a_return_on_some_paths_only_says_so():
    @core.function
    def find(x):
        for i in core.range(10):
            if x > i:
                return x

    with pytest.raises(
        errors.TracingError, match="'find' returns a value only if a condition on an array holds"
    ):
        find(jnp.float32(3.0))


def test_while_on_an_array_is_compiled():
    variable = core.Variable(1.0)

    @core.function
    def grow(limit):
        steps = 0
        while variable < limit:
            variable.assign(variable * 2)
            steps += 1
        return steps

    assert int(grow(jnp.float32(10.0))) == 4
    assert float(variable.value) == 16.0


def test_while_on_python_values_stays_pythons():
    @core.function
    def run(x, n):
        while n > 0:
            x, n = x * 2, n - 1
        return x

    assert float(run(jnp.float32(1.0), 3)) == 8.0
    assert count_loops(run, jnp.float32(1.0), 3) == {"scan": 0, "while": 0, "cond": 0}


def test_python_loops_are_unrolled():
    @core.function
    def run(x):
        for factor in [2.0, 3.0]:
            x = x * factor
            if factor == 3.0:
                break
        return x

    assert float(run(jnp.float32(1.0))) == 6.0
    assert count_loops(run, jnp.float32(1.0))["scan"] == 0


def test_a_break_on_an_array_in_a_python_loop_says_what_to_write():
    @core.function
    def run(x):
        for _ in range(3):
            if x > 1:
                break
            x = x + 1
        return x

    with pytest.raises(errors.TracingError, match="Python loop of a compiled function depends on an array"):
        run(jnp.float32(1.0))


def test_a_tape_around_a_loop_differentiates_through_it():
    weight = core.Variable(2.0)

    @core.function
    def run(x):
        with core.GradientTape() as tape:
            for _ in core.range(3):
                x = x * weight
        return tape.gradient(x, weight)

    assert float(run(jnp.float32(1.0))) == 12.0


def test_a_loop_inside_a_mapped_function_sees_the_mesh():
    mesh = jax.make_mesh((2,), ("replica",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("replica")

    @core.function
    def run(x):
        def replica(x):
            for _ in core.range(2):
                x = x + jax.lax.psum(x, "replica")
            return x

        return jax.shard_map(replica, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x)

    np.testing.assert_array_equal(run(jnp.array([1.0, 2.0])), [13.0, 14.0])


@pytest.mark.parametrize(
    ("before", "assign", "message"),
    [
        (
            lambda: 0.0,
            lambda t, x: t + jnp.ones(3),
            r"local variable 'total' differs from one iteration.*float32\[3\]",
        ),
        (
            lambda: jnp.int32(0),
            lambda t, x: t + x,
            r"'total' differs from one iteration.*int32\[\].*float32\[\]",
        ),
        (lambda: {"a": 0.0}, lambda t, x: {"b": x}, "structure of local variable 'total' changes"),
        (lambda: "text", lambda t, x: "other", "Local variable 'total' is not an array and changes"),
        (lambda: 0.0, lambda t, x: "text", "is an array before a compiled loop and something else after"),
        (lambda: None, lambda t, x: x if t is None else t + x, "'total' is None before a compiled loop"),
    ],
)
def test_a_local_that_changes_its_type_is_named(before, assign, message):
    @core.function
    def run(x):
        total = before()
        for _ in core.range(3):
            total = assign(total, x)
        return total

    with pytest.raises(errors.TracingError, match=message):
        run(jnp.float32(1.0))


def test_a_failed_trace_leaves_variables_as_they_were():
    variable = core.Variable(1.0)

    @core.function
    def run(x):
        for _ in core.range(3):
            variable.assign_add(1.0)
            raise KeyError("mine")
        return x

    with pytest.raises(KeyError, match="mine"):
        run(jnp.float32(1.0))
    assert float(variable.value) == 1.0
    assert regions.current_region() is None


def test_a_loop_takes_its_input_as_one_block():
    traced = []

    @core.function
    def total(stream, n):
        result = 0.0
        for _ in core.range(n):
            traced.append(1)
            result += keras.ops.sum(next(stream))
        return result

    stream = ListStream(rows(10))
    assert float(total(stream, 6)) == 60.0
    assert float(total(stream, 4)) == 120.0
    assert len(traced) == 2
    assert stream.position == 10


def test_a_smaller_count_is_served_by_the_same_program():
    @core.function
    def total(stream, n):
        result = 0.0
        for _ in core.range(n):
            result += keras.ops.sum(next(stream) * next(stream))
        return result, next(stream)

    stream = ListStream(rows(24))
    result, after = total(stream, jnp.int32(6))
    assert float(result) == 4.0 * sum(i * (i + 1) for i in range(0, 12, 2))
    assert float(after[0]) == 12.0
    result, after = total(stream, jnp.int32(5))
    assert float(result) == 4.0 * sum(i * (i + 1) for i in range(13, 23, 2))
    assert float(after[0]) == 23.0
    assert total.num_programs == 1


@pytest.mark.parametrize("array", [False, True], ids=["int", "array"])
def test_a_shorter_last_batch_gets_a_loop_of_its_own(array):
    traced = []

    @core.function
    def total(stream, n):
        result = 0.0
        for i in core.range(n):
            traced.append(1)
            result += keras.ops.sum(next(stream)) * i
        return result

    count = jnp.int32 if array else int
    expected = 4.0 * sum(i * i for i in range(5)) + 5 * 200.0
    assert float(total(ListStream(rows(5, tail=[100])), count(6))) == expected
    assert len(traced) == 2
    assert float(total(ListStream(rows(5, tail=[100])), count(6))) == expected
    assert len(traced) == 2
    assert float(total(ListStream(rows(3, tail=[100])), count(4))) == 4.0 * 5 + 3 * 200.0


def test_a_count_of_zero_takes_no_input():
    @core.function
    def total(stream, n):
        result = 1.0
        for _ in core.range(n):
            result += keras.ops.sum(next(stream))
        return result

    stream = ListStream(rows(3))
    assert [float(total(stream, jnp.int32(n))) for n in (0, 2, 0)] == [1.0, 5.0, 1.0]
    assert stream.position == 2
    assert total.num_programs == 2


def test_nested_loops_take_input():
    @core.function
    def total(stream):
        result = 0.0
        for _ in core.range(3):
            for j in core.range(2):
                result += keras.ops.sum(next(stream)) * (j + 1)
            result += keras.ops.sum(next(stream))
        return result

    stream = ListStream(rows(9))
    assert float(total(stream)) == 4.0 * sum(value * [1, 2, 1][value % 3] for value in range(9))
    assert stream.position == 9


def test_a_stream_with_too_few_elements_loses_none():
    @core.function
    def total(stream, n):
        result = 0.0
        for _ in core.range(n):
            result += keras.ops.sum(next(stream))
        return result

    stream = ListStream(rows(3))
    with pytest.raises(core.OutOfRangeError, match="4 elements were asked for, 3 are left"):
        total(stream, 4)
    assert stream.position == 0
    assert float(total(stream, 3)) == 12.0


def test_the_number_of_iterations_that_take_input_may_be_computed():
    @core.function
    def total(stream, n):
        result = 0.0
        for _ in core.range(n * 2):
            result += keras.ops.sum(next(stream))
        return result

    assert float(total(ListStream(rows(8)), jnp.int32(2))) == 24.0


def test_several_elements_per_iteration_have_to_have_one_shape():
    @core.function
    def total(stream):
        result = 0.0
        for _ in core.range(2):
            result += keras.ops.sum(next(stream)) + keras.ops.sum(next(stream))
        return result

    with pytest.raises(errors.TracingError, match=r"takes 2 elements.*3 of \(4,\), 1 of \(2,\)"):
        total(ListStream(rows(3, tail=[9])))


def test_a_loop_that_can_end_early_takes_what_its_iterations_used():
    @core.function
    def total(stream):
        result = 0.0
        for _ in core.range(30):
            result += keras.ops.sum(next(stream))
            if result > 5:
                break
        return result

    stream = ListStream(rows(30))
    assert float(total(stream)) == 12.0
    assert stream.position == 3
    assert float(total(stream)) == 12.0
    assert stream.position == 4


def test_an_inner_loop_may_take_as_many_elements_as_an_array_says():
    @core.function
    def total(stream, n):
        result = 0.0
        for _ in core.range(2):
            for _ in core.range(n):
                result += keras.ops.sum(next(stream))
        return result

    stream = ListStream(rows(8))
    assert float(total(stream, jnp.int32(2))) == 24.0
    assert stream.position == 4


def test_a_loop_over_a_stream_goes_to_its_end():
    @core.function
    def total(stream):
        result = 0.0
        for element in stream:
            result += keras.ops.sum(element)
        return result

    stream = ListStream(rows(3, tail=[9]))
    next(stream)
    assert float(total(stream)) == 12.0 + 18.0
    assert float(total(stream)) == 0.0
    assert stream.position == 4


def test_input_inside_a_branch_is_refused():
    @core.function
    def total(stream, x):
        if x > 0:
            x = x + keras.ops.sum(next(stream))
        return x

    with pytest.raises(errors.TracingError, match="in one branch of an `if`.*Take the element first"):
        total(ListStream(rows(3)), jnp.float32(1.0))


def test_a_variable_assigned_to_a_local_is_read_there():
    counter = core.Variable(0.0)

    @core.function
    def run():
        seen = 0.0
        for _ in core.range(3):
            counter.assign_add(1.0)
            seen = counter
        counter.assign_add(1.0)
        return seen

    assert float(run()) == 3.0


def test_a_loop_without_end_is_compiled_from_the_first_condition_on_an_array():
    @core.function
    def run(x):
        while True:
            x = x * 2
            if x > 20:
                break
        return x

    assert [float(run(jnp.float32(x))) for x in (3.0, 100.0)] == [24.0, 200.0]
    assert count_loops(run, jnp.float32(3.0))["while"] == 1


def test_attributes_and_items_that_the_loop_assigns_are_carried():
    class Holder:
        total = 0.0

    @core.function
    def run(x):
        holder, table = Holder(), {"last": x}
        for i in core.range(4):
            holder.total += x * i
            table["last"] = x + i
        return holder.total, table["last"]

    total, last = run(jnp.float32(2.0))
    assert (float(total), float(last)) == (12.0, 5.0)


def test_arrays_are_filled_element_by_element():
    @core.function
    def squares(n):
        values = jnp.zeros(5, jnp.int32)
        for i in core.range(n):
            values = values.at[i].set(i * i)
        return values

    np.testing.assert_array_equal(squares(jnp.int32(4)), [0, 1, 4, 9, 0])


def test_a_loop_over_stacked_rows_keeps_the_last_result_or_all_and_updates_variables():
    total = core.Variable(0.0)

    def step(row):
        total.assign_add(row["x"].sum())
        return {"largest": row["x"].max(), "count": 2}

    rows = {"x": np.arange(6, dtype="float32").reshape(3, 2)}
    last = core.function(lambda rows: control.for_rows(rows, step, keep=False))(rows)
    assert {name: float(value) for name, value in last.items()} == {"largest": 5.0, "count": 2.0}
    every = core.function(lambda rows: control.for_rows(rows, step, keep=True))(rows)
    np.testing.assert_array_equal(every["largest"], [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(every["count"], [2, 2, 2])
    assert float(total) == 30.0


def test_a_loop_over_stacked_rows_belongs_into_a_program():
    with pytest.raises(errors.TracingError, match="outside of a compiled function"):
        control.for_rows(np.ones((2, 2)), lambda row: row, keep=False)


def test_a_state_is_carried_through_rows_and_every_result_is_kept():
    rows = {"x": np.arange(6, dtype=np.float32).reshape(3, 2)}
    factor = keras.Variable(2.0)
    calls = keras.Variable(0)

    def step(state, row):
        calls.assign_add(1)
        total, number = state
        total = total + factor * row["x"]
        return (total, number + 1), {"sum": total, "number": number}

    def whole(rows):
        return control.scan_rows(rows, (jnp.zeros(2), jnp.int32(0)), step)

    (total, number), kept = core.function(whole)(rows)
    assert total.tolist() == [12, 18]
    assert int(number) == 3
    assert int(calls.value) == 3
    assert kept["sum"].tolist() == [[0, 2], [4, 8], [12, 18]]
    assert kept["number"].tolist() == [0, 1, 2]
    with pytest.raises(errors.TracingError, match="changes in a compiled loop"):
        core.function(lambda rows: control.scan_rows(rows, 0.0, lambda state, row: ((state, state), row)))(
            rows
        )
