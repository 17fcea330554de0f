"""Summaries in compiled functions, loops and replicas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import summary
from stratax.errors import BadArgumentError


@pytest.fixture
def writer(tmp_path):
    writer = summary.create_file_writer(tmp_path)
    yield writer
    writer.close()


@pytest.fixture
def found(tmp_path, read, writer):
    """Returns a function that gives what has been written."""

    def found():
        writer.flush()
        return read(tmp_path)

    return found


def test_a_function_writes_whenever_it_runs_and_not_when_it_is_traced(writer, found):
    @sx.function
    def f(x, step):
        summary.scalar("x", x * 2, step=step)
        return x

    with writer.as_default():
        f.jaxpr(np.float32(9), np.int32(9))
        for step in range(3):
            f(np.float32(step), np.int32(step))
    assert found() == {"x": [(0, 0.0), (1, 2.0), (2, 4.0)]}
    assert f.num_programs == 1


def test_every_iteration_of_a_loop_writes_its_own_step(writer, found):
    total = sx.Variable(0.0)

    @sx.function
    def f(n):
        for i in sx.range(n):
            total.assign_add(1.0)
            summary.scalar("total", total, step=i)

    with writer.as_default():
        f(200)
    assert found() == {"total": [(i, i + 1.0) for i in range(200)]}


def test_a_loop_over_a_dataset_writes_every_step(writer, found):
    step = sx.Variable(0, dtype="int32")

    @sx.function
    def f(dataset):
        for x in dataset:
            step.assign_add(1)
            summary.scalar("x", jnp.sum(x))

    with writer.as_default(step=step):
        f(sx.Dataset.from_tensor_slices(np.arange(150.0, dtype="float32")))
        f(sx.Dataset.from_tensor_slices(np.arange(3.0, dtype="float32")))
    assert found() == {"x": [(i + 1, float(i)) for i in range(150)] + [(151 + i, float(i)) for i in range(3)]}


def test_a_step_that_is_a_variable_is_read_where_the_summary_is(writer, found):
    step = sx.Variable(0, dtype="int32")
    other = sx.Variable(50, dtype="int32")

    @sx.function
    def f():
        for _ in sx.range(2):
            step.assign_add(1)
            summary.scalar("x", 1.0)

    with writer.as_default():
        for variable in (step, other, step):
            summary.experimental.set_step(variable)
            f()
    assert [s for s, _ in found()["x"]] == [1, 2, 50, 50, 5, 6]


def test_a_condition_on_a_variable_is_computed_in_every_iteration(writer, found):
    step = sx.Variable(0, dtype="int32")

    @sx.function
    def f():
        for _ in sx.range(10):
            step.assign_add(1)
            summary.histogram("x", jnp.arange(4.0), step=step, buckets=1)

    with writer.as_default():
        for _ in range(2):
            with summary.record_if(lambda: step % 4 == 0):
                f()
    assert [s for s, _ in found()["x"]] == [4, 8, 12, 16, 20]


def test_a_step_that_is_missing_is_found_when_the_function_is_traced(writer):
    @sx.function
    def f():
        summary.scalar("x", 1.0)

    with writer.as_default(), pytest.raises(BadArgumentError, match="no step"):
        f()


def test_a_branch_writes_only_if_it_is_taken(writer, found):
    @sx.function
    def f(x):
        if x > 1:
            summary.scalar("x", x, step=1)

    with writer.as_default():
        f(np.float32(1))
        f(np.float32(2))
    assert found() == {"x": [(1, 2.0)]}


def test_all_kinds_are_those_of_eager_code(tmp_path, read, writer):
    eager = summary.create_file_writer(tmp_path.with_name("eager"))
    data = np.random.default_rng(0).uniform(-0.2, 1.2, (4, 5, 6, 3)).astype("float32")

    def write(data):
        summary.histogram("h", data, step=1)
        summary.histogram("hi", (data * 10).astype("int32"), step=1, buckets=4)
        summary.image("i", data, step=1)
        summary.audio("a", data[..., 0], 100, step=1)
        summary.text("t", ["a", "b"], step=1)
        summary.write("w", data[0, 0], step=1)
        summary.histogram("e", data[:0], step=1)
        summary.histogram("n", jnp.full((3,), jnp.nan), step=1)

    with writer.as_default():
        sx.function(write)(data)
    with eager.as_default():
        write(data)
    writer.flush()
    eager.close()
    compiled, expected = read(tmp_path), read(tmp_path.with_name("eager"))
    assert sorted(compiled) == sorted(expected) == ["a", "e", "h", "hi", "i", "n", "t", "w"]
    np.testing.assert_allclose(compiled.pop("h")[0][1], expected.pop("h")[0][1], rtol=1e-6)
    assert compiled == expected


def test_gradients_pass_summaries_by(writer, found):
    variable = sx.Variable(3.0)

    @sx.function
    def f():
        with sx.GradientTape() as tape:
            loss = variable * variable
            summary.scalar("tape", loss, step=1)
            summary.histogram("h", loss, step=1, buckets=1)
        (gradient,) = tape.gradient(loss, [variable])

        def again():
            loss = variable * variable
            summary.scalar("function", loss, step=1)
            return loss

        _, (other,) = sx.value_and_grad(again, [variable])()
        return gradient, other

    with writer.as_default(), summary.record_if(lambda: variable > 0):
        assert [float(each) for each in f()] == [6.0, 6.0]
    assert found() == {"tape": [(1, 9.0)], "function": [(1, 9.0)], "h": [(1, [[9.0, 9.0, 1.0]])]}


@pytest.mark.parametrize("count", [1, 2, 8])
def test_replicas_write_once_and_the_first_ones_value(writer, found, count):
    strategy = sx.distribute.MirroredStrategy(jax.devices()[:count])
    with strategy.scope():
        step = sx.Variable(0, dtype="int32", aggregation="only_first_replica")

    def in_replica():
        step.assign_add(1)
        context = sx.distribute.get_replica_context()
        summary.scalar("replica", context.replica_id_in_sync_group * 1.0, step=step)
        return summary.should_record_summaries()

    @sx.function
    def train(n):
        for _ in sx.range(n):
            strategy.run(in_replica)
            summary.scalar("outside", step * 2, step=step)

    with writer.as_default():
        train(20)
        recorded = strategy.run(in_replica)
    assert sum(bool(each) for each in strategy.experimental_local_results(recorded)) == 1
    assert found() == {
        "replica": [(i, 0.0) for i in range(1, 22)],
        "outside": [(i, 2.0 * i) for i in range(1, 21)],
    }


STRATEGIES = {
    "one": lambda: sx.distribute.OneDeviceStrategy("/cpu:1"),
    "mirrored": lambda: sx.distribute.MirroredStrategy(jax.devices()[:2]),
    "central": lambda: sx.distribute.CentralStorageStrategy(jax.devices()[:2]),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_step_of_a_pass_over_distributed_data_is_written_once(writer, found, name):
    strategy = STRATEGIES[name]()
    with strategy.scope():
        step = sx.Variable(0, dtype="int32", aggregation="only_first_replica")
        weight = sx.Variable(0.0, aggregation="mean")
    # The last batch does not divide.
    dataset = sx.Dataset.from_tensor_slices(np.arange(23, dtype="float32")).batch(4)
    distributed = strategy.experimental_distribute_dataset(dataset)

    def in_replica(x):
        step.assign_add(1)
        weight.assign(weight + 1.0)
        summary.scalar("first", x[0], step=step)
        summary.histogram("x", x, buckets=1)
        return jnp.sum(x)

    @sx.function
    def train(data):
        for x in data:
            total = strategy.reduce("sum", strategy.run(in_replica, args=(x,)), axis=None)
            summary.scalar("total", total, step=step)

    with writer.as_default(step=step), summary.record_if(lambda: step != 2):
        train(distributed)
        train(distributed)
    totals = [np.arange(start, min(start + 4, 23)).sum() for start in range(0, 24, 4)] * 2
    wanted = [number for number in range(1, 13) if number != 2]
    values = found()
    assert values["total"] == [(number, totals[number - 1]) for number in wanted]
    assert values["first"] == [(number, (number - 1) % 6 * 4.0) for number in wanted]
    assert [number for number, _ in values["x"]] == wanted


def test_programs_with_summaries_overwrite_variables_and_do_not_wait(writer, found):
    variable = sx.Variable(jnp.zeros((64,)))

    @sx.function
    def f():
        variable.assign_add(jnp.ones((64,)))
        summary.scalar("x", variable.value[0], step=1)

    with writer.as_default():
        f()
        before = variable.value.unsafe_buffer_pointer()
        f()
        assert variable.value.unsafe_buffer_pointer() == before
    assert [value for _, value in found()["x"]] == [1.0, 2.0]


def test_a_program_whose_writer_is_closed_says_once_that_summaries_are_lost(tmp_path, read, caplog):
    closed = summary.create_file_writer(tmp_path)

    @sx.function
    def f():
        with closed.as_default(step=1):
            summary.scalar("x", 1.0)

    f()
    closed.close()
    with caplog.at_level("WARNING", "stratax"):
        for _ in range(3):
            f()
        jax.effects_barrier()
    assert ["had been closed; they are lost" in message for message in caplog.messages] == [True]
    assert read(tmp_path) == {"x": [(1, 1.0)]}


def test_a_function_that_jax_compiles_writes_with_what_was_set_when_it_was_traced(writer, found):
    with writer.as_default(step=3):
        f = jax.jit(lambda x: summary.scalar("x", x) and x)
        f(1.0)
        f(2.0)
    assert found() == {"x": [(3, 1.0), (3, 2.0)]}


def test_steps_beyond_what_a_device_counts_are_refused(writer):
    @sx.function
    def f():
        summary.scalar("x", 1.0)

    with writer.as_default(step=2**40), pytest.raises(BadArgumentError, match="31 bits"):
        f()
