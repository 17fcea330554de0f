"""Variables of which each replica keeps its own value, as TensorFlow's, and state that belongs to a replica's rows."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core.functions import functions_run_eagerly, run_functions_eagerly
from stratax.distribute import CentralStorageStrategy, MirroredStrategy, get_replica_context

RNG = np.random.default_rng(2)


def mirrored(count):
    return MirroredStrategy([f"/cpu:{i}" for i in range(count)])


@pytest.fixture(scope="module")
def two():
    return mirrored(2)


@pytest.fixture(params=["compiled", "in_python"])
def each_way(request):
    before = functions_run_eagerly()
    run_functions_eagerly(request.param == "in_python")
    yield
    run_functions_eagerly(before)


def index():
    return jnp.asarray(get_replica_context().replica_id_in_sync_group, "float32")


def variable(strategy, initial, aggregation="none", synchronization="auto"):
    with strategy.scope():
        return sx.Variable(initial, aggregation=aggregation, synchronization=synchronization, trainable=False)


def own(strategy, v):
    """What each replica reads."""
    return [
        np.asarray(each).tolist()
        for each in strategy.experimental_local_results(strategy.run(lambda: v.value))
    ]


# The values that TensorFlow 2.21 gives, with a MirroredStrategy of two devices.


@pytest.mark.usefixtures("each_way")
def test_a_variable_without_aggregation_is_each_replicas_own_and_the_first_ones_outside(two):
    v = variable(two, 1.0)
    step = sx.function(lambda: two.run(lambda: v.assign(2 * v + index())))
    for expected in ([2, 3], [4, 7], [8, 15]):
        step()
        assert own(two, v) == expected
        assert float(v.value) == expected[0]
    v.assign(0.0)
    assert own(two, v) == [0, 0]
    step()
    assert own(two, v) == [0, 1]


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize(
    ("aggregation", "initial", "first", "seen"),
    [
        ("sum", 4.0, [2, 2], [([3, 4], 7), ([4, 6], 10)]),
        ("mean", 4.0, [4, 4], [([5, 6], 5.5), ([6, 8], 7)]),
        ("only_first_replica", 4.0, [4, 4], [([5, 6], 5), ([6, 8], 6)]),
        ("none", 4.0, [4, 4], [([5, 6], 5), ([6, 8], 6)]),
        # TensorFlow loses what is left over of a whole number.
        ("sum", 5, [3, 2], [([4, 4], 8), ([5, 6], 11)]),
    ],
)
def test_what_is_synchronized_on_read_is_each_replicas_own_and_combined_outside(
    two, aggregation, initial, first, seen
):
    v = variable(two, initial, aggregation, "on_read")
    # Each replica begins with the first value; what is assigned outside is divided.
    assert own(two, v) == [initial, initial]
    assert float(v.value) == (2 * initial if aggregation == "sum" else initial)
    v.assign(initial)
    assert own(two, v) == first
    step = sx.function(lambda: two.run(lambda: v.assign_add(jnp.asarray(index() + 1, v.dtype))))
    for values, outside in seen:
        step()
        assert own(two, v) == values
        assert float(v.value) == outside
    v.assign(initial)
    assert own(two, v) == first


def test_what_merge_call_reads_and_assigns_is_that_of_all(two):
    v = variable(two, 2.0, "sum", "on_read")

    def merge(strategy):
        del strategy
        before = v + 0.0
        v.assign(before * 2)
        return before

    def step():
        v.assign_add(index() + 1)
        return get_replica_context().merge_call(merge), v.value

    step = sx.function(lambda s=step: two.run(s))
    for before in (7, 17):
        seen, values = step()
        assert [float(each) for each in two.experimental_local_results(seen)] == [before] * 2
        assert [float(each) for each in two.experimental_local_results(values)] == [before] * 2
        assert float(v.value) == 2 * before


def test_parts_go_through_loops_and_conditions_of_the_program(two):
    v = variable(two, 1.0)

    @sx.function
    def program(n):
        for _ in sx.range(3):
            two.run(lambda: v.assign(2 * v + index()))
        outside = v + 0.0
        two.run(branch, args=(n,))
        return outside

    def branch(n):
        for _ in sx.range(n):
            if v > 10:
                v.assign_sub(10.0)

    assert float(program(jnp.int32(2))) == 8
    assert own(two, v) == [8, 5]  # 8 and 15 - 10

    @sx.function
    def assigned_between():
        two.run(lambda: v.assign_add(index()))
        v.assign(3.0)
        two.run(lambda: v.assign_add(index()))
        if v > 2.0:
            two.run(lambda: v.assign_add(1.0))

    assigned_between()
    assert own(two, v) == [4, 5]


def test_a_program_that_was_compiled_before_sees_the_replicas_own_values(two):
    v = variable(two, 1.0)
    double = sx.function(lambda: two.run(lambda: 2 * v))
    outside = sx.function(lambda: 3 * v)
    assert [float(each) for each in two.experimental_local_results(double())] == [2, 2]
    assert float(outside()) == 3
    two.run(lambda: v.assign_add(index()))
    assert [float(each) for each in two.experimental_local_results(double())] == [2, 4]
    assert float(outside()) == 3


def test_a_variable_that_is_read_before_and_behind_replicas_in_one_program(two):
    v = variable(two, 1.0)

    @sx.function
    def program():
        before = v + 0.0
        two.run(lambda: v.assign_add(index() + 1))
        return before, v + 0.0

    assert [float(each) for each in program()] == [1, 2]
    assert [float(each) for each in program()] == [2, 3]
    assert own(two, v) == [3, 5]
    assert program.experimental_get_tracing_count() == 1


def test_the_parts_lie_on_the_replicas_devices_and_stay_there(two):
    v = variable(two, np.zeros((4, 2), "float32"))
    step = sx.function(lambda: two.run(lambda: v.assign_add(jnp.ones((4, 2)) * index())))
    step()
    parts = v.__dict__["_stratax_parts"]
    for _ in range(2):
        shards = parts._value.addressable_shards
        assert [shard.data.shape for shard in shards] == [(1, 4, 2)] * 2
        assert {shard.device for shard in shards} == set(two.devices)
        step()
    # A move of the variable's own value is no assignment.
    other = sx.function(lambda: sx.distribute.OneDeviceStrategy("/cpu:3").run(lambda: v + 1.0))
    np.testing.assert_array_equal(other(), np.ones((4, 2)))
    assert own(two, v)[1] == [[3, 3]] * 4


def test_what_an_optimizer_or_merge_call_assigns_alike_gets_no_parts(two):
    v = variable(two, 1.0)
    with two.scope():
        w = sx.Variable(1.0)
        optimizer = keras.optimizers.SGD(0.5, momentum=0.5)
        optimizer.build([w])

    def step():
        get_replica_context().merge_call(lambda _: v.assign(5.0) is None)
        optimizer.apply_gradients([(index(), w)])

    two.run(step)
    assert (float(v.value), float(w.value)) == (5.0, 0.5)
    assert not any("_stratax_parts" in each.__dict__ for each in [v, w, *optimizer.variables])


def test_batch_normalization_asks_for_the_mean_of_its_statistics(two):
    x = RNG.normal(size=(8, 3)).astype("float32") * 3 + 1
    with two.scope():
        layer = keras.layers.BatchNormalization(momentum=0.5)
        layer.build((None, 3))
    step = sx.function(lambda x: two.run(lambda x: layer(x, training=True), args=(x,)))
    for _ in range(2):
        for batch in two.experimental_distribute_dataset([x]):
            step(batch)
    halves = x.reshape(2, 4, 3)
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.75 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance.numpy(), 0.25 + 0.75 * halves.var(1).mean(0), rtol=1e-5)
    assert own(two, layer.moving_mean)[0] == own(two, layer.moving_mean)[1]


def test_spectral_normalization_assigns_alike(two):
    with two.scope():
        layer = keras.layers.SpectralNormalization(keras.layers.Dense(3))
        layer.build((None, 4))
    before = layer.kernel.numpy()
    two.run(lambda: layer(jnp.ones((2, 4)), training=True))
    assert not np.allclose(layer.kernel.numpy(), before)
    assert "_stratax_parts" not in layer.kernel.__dict__


def test_where_variables_are_kept_in_one_place_they_can_t_be_each_replicas_own():
    strategy = CentralStorageStrategy([f"/cpu:{i}" for i in range(2)], "/cpu:7")
    v = variable(strategy, 1.0)
    with pytest.raises(
        errors.StrategyError, match=r"without an aggregation.*CentralStorageStrategy.*MirroredStrategy"
    ):
        strategy.run(lambda: v.assign_add(index()))
    assert float(v.value) == 1.0


# Rows


def rows_of_states(count, rows, build, steps=1):
    strategy = mirrored(count)
    with strategy.scope():
        model = build(rows // count)
        model.compile(keras.optimizers.SGD(0.0), "mse", steps_per_execution=steps)
    return model


def stateful(rows, layer=keras.layers.SimpleRNN):
    return keras.Sequential(
        [
            keras.Input(batch_shape=(rows, 3, 2)),
            layer(4, stateful=True),
            keras.layers.Dense(1, use_bias=False),
        ]
    )


# What a layer's state is, one array or two, is nothing to how many steps are dispatched or whose rows it was built for:
# each of these is tried with one of the layers.
@pytest.mark.parametrize(
    ("layer", "steps", "built_for"),
    [
        (keras.layers.SimpleRNN, 1, 1),
        (keras.layers.LSTM, 3, 1),
        (keras.layers.LSTM, 1, 8),
        (keras.layers.SimpleRNN, 3, 8),
    ],
)
def test_a_stateful_rnn_under_eight_devices_gives_one_devices_numbers(layer, steps, built_for):
    x = RNG.normal(size=(24, 3, 2)).astype("float32")
    y = RNG.normal(size=(24, 1)).astype("float32")
    one = stateful(8, layer)
    model = rows_of_states(8, 8, lambda rows: stateful(rows * built_for, layer), steps)
    for mine, theirs in zip(model.trainable_variables, one.trainable_variables, strict=True):
        mine.assign(theirs.numpy())

    def expected():
        # By calls, in no loop.
        return np.concatenate([np.asarray(one(batch)) for batch in np.split(x, 3)])

    for _ in range(2):
        np.testing.assert_allclose(model.predict(x, batch_size=8, verbose=0), expected(), atol=1e-5)
    one.layers[0].reset_state()
    model.layers[0].reset_state()
    losses = [np.mean((expected() - y) ** 2) for _ in range(3)]
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], losses[:2], rtol=1e-5)
    np.testing.assert_allclose(model.evaluate(x, y, batch_size=8, verbose=0), losses[2], rtol=1e-5)
    states = [[np.asarray(state) for state in each.layers[0].states] for each in (model, one)]
    for mine, theirs in zip(*states, strict=True):
        # Built for the batch, the layer shows the state of all rows; else that of the first replica's.
        np.testing.assert_allclose(mine, theirs[:built_for], atol=1e-5)


def test_a_layers_memory_of_rows_is_the_replicas_own():
    class Memory(keras.layers.Layer):
        def build(self, shape):
            self.memory = self.add_weight(shape=(shape[0], 2), initializer="zeros", trainable=False)

        def call(self, x):
            self.memory.assign(0.5 * self.memory + x)
            return self.memory + 0.0

    x = RNG.normal(size=(24, 2)).astype("float32")
    model = rows_of_states(
        4, 8, lambda rows: keras.Sequential([keras.Input(batch_shape=(rows, 2)), Memory()])
    )
    expected, memory = [], np.zeros((8, 2))
    for batch in np.split(x, 3):
        memory = 0.5 * memory + batch
        expected.append(memory)
    np.testing.assert_allclose(model.predict(x, batch_size=8, verbose=0), np.concatenate(expected), atol=1e-5)


def test_parts_are_donated_and_no_step_copies_them(two):
    v = variable(two, np.zeros((64, 64), "float32"))
    step = sx.function(lambda: two.run(lambda: v.assign_add(jnp.ones((64, 64)))))
    step()
    step()
    before = v.__dict__["_stratax_parts"]._value
    pointers = {shard.data.unsafe_buffer_pointer() for shard in before.addressable_shards}
    del before
    step()
    after = v.__dict__["_stratax_parts"]._value
    assert {shard.data.unsafe_buffer_pointer() for shard in after.addressable_shards} == pointers
    jax.block_until_ready(after)
