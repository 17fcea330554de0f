"""A long loop over an iterator takes its input in windows: memory is bounded, results are single steps'."""

import os
import signal
import threading
import time
import types

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core.control import _driven
from stratax.core.programs import _driver
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, OneDeviceStrategy

N = 3 * _driven.WINDOW_STEPS + 5


def numbers(batch=2):
    return sx.Dataset.from_tensor_slices(np.arange(4096, dtype="float32")).repeat().batch(batch)


@pytest.fixture
def blocks(monkeypatch):
    """How many elements each block had that was taken."""
    taken = []
    original = sx.data.DatasetIterator.peek_block

    def peek_block(self, skip, count, capacity):
        taken.append(capacity)
        return original(self, skip, count, capacity)

    monkeypatch.setattr(sx.data.DatasetIterator, "peek_block", peek_block)
    return taken


def test_a_loop_of_any_length_is_single_steps_and_takes_bounded_blocks(blocks):
    traces = []
    values = {}
    for mode in ("loop", "steps"):
        v = sx.Variable(0.5)
        iterator = iter(numbers())

        @sx.function
        def steps(iterator, n, v=v):
            last = 0.0
            for i in sx.range(n):
                traces.append(1)
                last = next(iterator).sum() + i * 0
                v.assign(v * 0.5 + last)
            return last

        if mode == "loop":
            last = steps(iterator, np.int32(N))
            assert len(traces) == 1
            assert max(blocks) == _driven.WINDOW_STEPS
            assert float(steps(iterator, np.int32(2))) == float(last) + 8
            assert steps.num_programs == 1
        else:
            for _ in range(N + 2):
                last = steps(iterator, np.int32(1))
        values[mode] = float(v.value), iterator.get_state()["position"]
    assert values["loop"] == values["steps"]
    assert values["loop"][1] == N + 2


def test_windows_are_bounded_in_bytes_too(blocks, monkeypatch):
    monkeypatch.setattr(_driven, "WINDOW_BYTES", 5 * 8)

    @sx.function
    def total(iterator):
        result = 0.0
        for _ in sx.range(12):
            result += next(iterator).sum()
        return result

    assert float(total(iter(numbers()))) == sum(range(24))
    assert blocks == [4, 4, 4] or max(blocks) <= 5


def test_the_number_of_iterations_may_be_computed_and_an_iteration_may_take_several():
    @sx.function
    def total(iterator, n):
        result = 0.0
        for _ in sx.range(n + 1):
            result += next(iterator).sum() - next(iterator).sum()
        return result

    iterator = iter(numbers())
    assert float(total(iterator, np.int32(99))) == -400
    assert iterator.get_state()["position"] == 200


def test_other_shapes_on_the_way_are_taken_too():
    """A remainder in every pass, of which the function learns while it runs."""
    dataset = sx.Dataset.from_tensor_slices(np.arange(7, dtype="float32")).batch(2).repeat()

    @sx.function
    def total(iterator, scale):
        result, count = 0.0, 0
        doubled = scale * 2
        for _ in sx.range(N):
            batch = next(iterator)
            result += (batch * doubled).sum()
            count += batch.shape[0]
        return result, count

    result, count = total(iter(dataset), np.float32(0.5))
    batches = [np.arange(7)[i : i + 2] for i in (0, 2, 4, 6)]
    expected = [batches[i % 4] for i in range(N)]
    assert (float(result), int(count)) == (sum(b.sum() for b in expected), sum(map(len, expected)))
    assert float(total(iter(dataset), np.float32(1.0))[0]) == 2 * float(result)


def test_running_out_on_the_way_keeps_the_iterations_before():
    v = sx.Variable(0.0)

    @sx.function
    def steps(iterator):
        for _ in sx.range(1000):
            v.assign_add(next(iterator))

    iterator = iter(sx.Dataset.range(150, output_type=np.float32))
    with pytest.raises(sx.OutOfRangeError, match="after 150 iterations"):
        steps(iterator)
    assert float(v.value) == 149 * 150 / 2


def test_an_element_that_fails_on_the_way_comes_behind_those_before_it():
    def fail(n):
        if int(n) == 100:
            raise ValueError("element one hundred")
        return np.float32(n)

    v = sx.Variable(0.0)

    @sx.function
    def steps(iterator):
        for _ in sx.range(1000):
            v.assign_add(next(iterator))

    iterator = iter(sx.Dataset.range(150).map(fail))
    with pytest.raises(ValueError, match="element one hundred"):
        steps(iterator)
    assert float(v.value) == 99 * 100 / 2
    assert float(next(iterator)) == 101


def test_what_comes_before_and_after_the_loop_is_in_the_programs_order():
    v = sx.Variable(1.0)

    @sx.function
    def f(iterator):
        first = next(iterator)
        v.assign(first)
        for _ in sx.range(100):
            v.assign_add(next(iterator))
        after = next(iterator)
        v.assign_add(1000.0)
        return first, v.value, after

    iterator = iter(sx.Dataset.range(1000, output_type=np.float32))
    assert [float(x) for x in f(iterator)] == [0, sum(range(101)) + 1000, 101]
    assert [float(x) for x in f(iterator)] == [102, sum(range(102, 203)) + 1000, 203]


def test_ctrl_c_ends_a_long_loop_soon_and_leaves_variables_and_position_together():
    v = sx.Variable(0.0)

    @sx.function
    def steps(iterator, n):
        for _ in sx.range(n):
            v.assign_add(next(iterator) * 0 + 1)

    iterator = iter(sx.Dataset.range(10**9, output_type=np.float32))
    steps(iterator, np.int32(1000))
    thread = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        steps(iterator, np.int32(2**30))
    interrupted = time.perf_counter()
    done = float(v.value)
    assert time.perf_counter() - interrupted < 30  # Of hours that the loop would take.
    assert 0 <= iterator.get_state()["position"] - done <= _driven.WINDOW_STEPS


def test_an_array_that_was_taken_out_of_a_variable_stays():
    v = sx.Variable(np.ones(3, "float32"))
    before = v.value

    @sx.function
    def steps(iterator):
        start = v.value
        for _ in sx.range(100):
            v.assign_add(next(iterator) * np.ones(3, "float32"))
        return start + 0 * v.value

    iterator = iter(sx.Dataset.range(1000, output_type=np.float32))
    assert steps(iterator).tolist() == [1, 1, 1]
    assert before.tolist() == [1, 1, 1]
    assert v.numpy().tolist() == [4951] * 3


X = np.random.default_rng(3).normal(size=(44, 3)).astype("float32")


def train(strategy, many):
    with strategy.scope():
        w = sx.Variable(np.ones(3, "float32"))
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build([w])
        metric = keras.metrics.Mean()

    def replica_step(x):
        loss = lambda: sx.distribute.compute_average_loss((x @ w.value - 1) ** 2)  # noqa: E731
        _, gradients = sx.value_and_grad(loss, [w])()
        optimizer.apply_gradients(zip(gradients, [w], strict=True))
        metric.update_state((x @ w.value - 1) ** 2)

    @sx.function
    def steps(iterator, n):
        for _ in sx.range(n):
            strategy.run(replica_step, args=(next(iterator),))

    dataset = sx.Dataset.from_tensor_slices(X).batch(8).repeat()
    iterator = iter(strategy.experimental_distribute_dataset(dataset))
    if many:
        steps(iterator, np.int32(70))
    else:
        for _ in range(70):
            steps(iterator, np.int32(1))
    return w.numpy(), float(metric.result())


@pytest.fixture(scope="module")
def expected():
    return train(OneDeviceStrategy("/cpu:0"), many=False)


@pytest.mark.parametrize(
    "kind",
    [
        lambda: OneDeviceStrategy("/cpu:0"),
        lambda: MirroredStrategy(["/cpu:0", "/cpu:1"]),
        lambda: MirroredStrategy([f"/cpu:{i}" for i in range(8)]),
        lambda: CentralStorageStrategy(["/cpu:0", "/cpu:1"], "/cpu:7"),
    ],
    ids=["one", "mirrored2", "mirrored8", "central2"],
)
def test_replicas_with_metrics_and_remainders_are_single_steps(kind, expected):
    """Windows of full batches and remainders of 4, which do not divide among 8."""
    w, metric = train(kind(), many=True)
    np.testing.assert_allclose(w, expected[0], atol=1e-5)
    assert metric == pytest.approx(expected[1], rel=1e-4)


def test_a_loop_that_runs_out_says_after_how_many_iterations_and_keeps_them():
    v = sx.Variable(0.0)

    @sx.function
    def steps(iterator, n):
        for _ in sx.range(n):
            v.assign_add(next(iterator) + next(iterator))

    iterator = iter(sx.Dataset.range(141, output_type=np.float32))
    with pytest.raises(
        sx.OutOfRangeError, match=r"after 70 iterations: the next one takes 2.* and 1 are left"
    ):
        steps(iterator, np.int32(80))
    assert float(v.value) == sum(range(140))
    assert float(next(iterator)) == 140
    with pytest.raises(
        sx.OutOfRangeError, match=r"after 0 iterations\. Variables have the values of the last"
    ):
        steps(iterator, np.int32(80))


def a_loop(test=None):
    """What `_capacity` asks of a loop."""
    return types.SimpleNamespace(test=test)


def test_blocks_have_few_sizes_since_a_window_is_compiled_for_each():
    step = types.SimpleNamespace(capacities=[])
    counts = [64, 5, 8, 3, 2, 64, 1]
    assert [_driver._capacity(a_loop(), step, count, 64) for count in counts] == [64, 64, 64, 64, 64, 64, 64]
    step = types.SimpleNamespace(capacities=[])
    assert [_driver._capacity(a_loop(), step, count, 50) for count in [1, 3, 2, 40, 30]] == [1, 4, 4, 50, 50]
    assert step.capacities == [1, 4, 50]
    assert _driver._capacity(a_loop(test=0), step, 3, 16) == 16


def test_a_value_that_was_not_kept_for_a_loop_is_named_by_its_type():
    jaxpr = jax.make_jaxpr(lambda x: x * 2.0)(np.ones((2, 3), "float32")).jaxpr
    ((variable,), (equation,)) = jaxpr.invars, jaxpr.eqns
    literal = equation.invars[1]
    assert _driver.value_of(variable, {variable: 7}) == 7
    assert (float(_driver.value_of(literal, {})), _driver.value_of(literal, {}).dtype) == (2.0, np.float32)
    with pytest.raises(errors.TracingError, match=r"was not kept for it.*float32\[2,3\].*drop_remainder"):
        _driver.value_of(variable, {})


def test_scalars_are_read_on_the_host_also_of_arrays_that_every_device_has():
    assert _driver.on_host(3).tolist() == 3
    mesh = MirroredStrategy(["/cpu:0", "/cpu:1"]).mesh
    everywhere = jax.device_put(np.int32(4), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec()))
    assert _driver.on_host(everywhere).tolist() == 4
    _driver.wait("no array")
