"""Variables in replicas: how different versions become one, random numbers, metrics, clipping, loss scales."""

import collections

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.core import jaxprs
from stratax.distribute import (
    CentralStorageStrategy,
    MirroredStrategy,
    NcclAllReduce,
    OneDeviceStrategy,
    get_replica_context,
)

RNG = np.random.default_rng(1)


def mirrored(count, ops=None):
    return MirroredStrategy([f"/cpu:{i}" for i in range(count)], ops)


@pytest.fixture(scope="module")
def four():
    return mirrored(4)


@pytest.fixture(scope="module")
def ids(four):
    return four.experimental_distribute_values_from_function(lambda c: np.float32(c.replica_id_in_sync_group))


def central(count):
    return CentralStorageStrategy([f"/cpu:{i}" for i in range(count)], "/cpu:7")


# aggregation


@pytest.mark.parametrize(
    ("aggregation", "initial", "expected"),
    [
        ("sum", 10.0, 10 + 0 + 1 + 2 + 3),
        ("mean", 10.0, 10 + 1.5),
        ("only_first_replica", 10.0, 10 + 0),
        ("sum", 10, 10 + 0 + 1 + 2 + 3),
        ("only_first_replica", 10, 10),
    ],
)
@pytest.mark.parametrize("kind", [mirrored, central])
def test_replicas_versions_of_a_variable_become_one(kind, aggregation, initial, expected):
    strategy = kind(4)
    with strategy.scope():
        v = sx.Variable(initial, trainable=False, aggregation=aggregation)
    step = sx.function(lambda: strategy.run(lambda: v.assign_add(jnp.asarray(replica_id(), v.dtype)) is None))
    step()
    assert v.numpy() == pytest.approx(expected)
    step()
    assert v.numpy() == pytest.approx(2 * expected - initial)
    assert v.dtype == ("float32" if isinstance(initial, float) else "int32")


def replica_id():
    return get_replica_context().replica_id_in_sync_group


def test_booleans_and_arrays_of_many_dtypes_are_merged_together(four, ids):
    with four.scope():
        flag = sx.Variable(False)
        half = sx.Variable(np.zeros(3), dtype="bfloat16", aggregation="sum")
        count = sx.Variable(np.zeros((2, 2)), dtype="int32", aggregation="sum")
        total = sx.Variable(np.zeros(5), aggregation="sum")

    def fn(x):
        flag.assign(x < 1)  # true on the first replica
        half.assign_add(jnp.full(3, x, "bfloat16"))
        count.assign_add(jnp.full((2, 2), 2, "int32"))
        total.assign_add(jnp.arange(5.0) * x)

    four.run(fn, args=(ids,))
    assert bool(flag.value) is True
    assert np.asarray(half.value, "float32").tolist() == [6, 6, 6]
    assert count.numpy().tolist() == [[8, 8], [8, 8]]
    assert total.numpy().tolist() == [0, 6, 12, 18, 24]


def count_collectives(jaxpr):
    return collections.Counter(equation.primitive.name for equation in jaxprs.walk_nested(jaxpr))


def test_all_aggregated_variables_of_a_dtype_take_one_collective(four):
    with four.scope():
        sums = [sx.Variable(np.zeros(n), aggregation="sum") for n in (1, 2, 3)]
        means = [sx.Variable(np.zeros(n), aggregation="mean") for n in (4, 5)]

    def fn():
        for variable in [*sums, *means]:
            variable.assign_add(jnp.ones(variable.shape))

    program = sx.function(lambda: four.run(fn)).jaxpr()
    counts = count_collectives(program.jaxpr)
    assert sum(count for name, count in counts.items() if name.startswith("psum")) == 1


@pytest.mark.parametrize("num_packs", [0, 1])
def test_packed_gradients_equal_unpacked_ones(num_packs):
    strategy = mirrored(4, NcclAllReduce(num_packs=num_packs, bytes_per_pack=0))
    sizes = (1, 7, 3)
    value = strategy.experimental_distribute_values_from_function(
        lambda c: [np.arange(n, dtype="float32") * (c.replica_id_in_sync_group + 1) for n in sizes]
    )
    reduced = strategy.run(lambda g: get_replica_context().all_reduce("sum", g), args=(value,))
    for n, result in zip(sizes, reduced, strict=True):
        assert result.values[3].tolist() == (10 * np.arange(n)).tolist()


def test_a_metric_counts_every_update_once_in_every_kind_of_step(four):
    with four.scope():
        mean = keras.metrics.Mean()
    batches = [np.arange(8, dtype="float32"), np.arange(8, 11, dtype="float32")]  # 8 divides, 3 does not
    step = sx.function(lambda x: four.run(lambda x: mean.update_state(x) is None, args=(x,)))
    for _ in range(2):
        for batch in four.experimental_distribute_dataset(batches):
            step(batch)
    mean.update_state([100.0])  # and outside of the strategy
    assert float(mean.count.value) == 23
    assert float(mean.result()) == pytest.approx((2 * 55 + 100) / 23)
    mean.reset_state()
    assert float(mean.count.value) == 0


class Confusion(keras.metrics.Metric):
    """A user's metric that knows nothing of replicas; its state is a matrix."""

    def __init__(self, classes):
        super().__init__()
        self.matrix = self.add_variable((classes, classes), initializer="zeros", dtype="int32", name="matrix")

    def update_state(self, y_true, y_pred, sample_weight=None):
        hits = keras.ops.one_hot(y_true, 5, dtype="int32").T @ keras.ops.one_hot(y_pred, 5, dtype="int32")
        self.matrix.assign_add(hits)

    def result(self):
        return self.matrix.value


@pytest.mark.parametrize("kind", [lambda: mirrored(4), lambda: mirrored(8), lambda: central(4)])
def test_a_confusion_matrix_and_auc_of_1003_examples_are_those_of_one_device(kind):
    labels, guesses = RNG.integers(0, 5, 1003), RNG.integers(0, 5, 1003)
    scores = RNG.random(1003).astype("float32")
    strategy = kind()
    with strategy.scope():
        confusion, auc = Confusion(5), keras.metrics.AUC(num_thresholds=50)

    def update(labels, guesses, scores):
        confusion.update_state(labels, guesses)
        auc.update_state(labels > 2, scores)

    step = sx.function(lambda batch: strategy.run(update, args=batch))
    dataset = sx.Dataset.from_tensor_slices((labels, guesses, scores)).batch(200)
    for batch in strategy.experimental_distribute_dataset(dataset):
        step(batch)
    truth = np.zeros((5, 5), int)
    np.add.at(truth, (labels, guesses), 1)
    assert int(confusion.result().sum()) == 1003
    np.testing.assert_array_equal(confusion.result(), truth)
    alone = keras.metrics.AUC(num_thresholds=50)
    alone.update_state(labels > 2, scores)
    assert float(auc.result()) == pytest.approx(float(alone.result()), abs=1e-6)


# random numbers


def masks(strategy, seed=7, rows=4):
    with strategy.scope():
        dropout = keras.layers.Dropout(0.5, seed=seed)
    step = sx.function(lambda: strategy.run(lambda: dropout(jnp.ones((rows, 16)), training=True)))
    return [[np.asarray(c) for c in strategy.experimental_local_results(step())] for _ in range(2)]


def test_dropout_differs_between_replicas_and_steps_and_is_a_function_of_seed_and_replica():
    first = masks(mirrored(4))
    again = masks(central(4))
    other = masks(mirrored(4), seed=8)
    for step in range(2):
        flat = [mask.tobytes() for mask in first[step]]
        assert len(set(flat)) == 4
        assert flat == [mask.tobytes() for mask in again[step]]
        assert not set(flat) & {mask.tobytes() for mask in other[step]}
    assert not {m.tobytes() for m in first[0]} & {m.tobytes() for m in first[1]}
    # The first replica's are one device's, and those of fewer replicas are among those of more.
    assert masks(OneDeviceStrategy("/cpu:0"))[1][0].tobytes() == first[1][0].tobytes()
    assert [m.tobytes() for m in masks(mirrored(2))[1]] == [m.tobytes() for m in first[1][:2]]
    kept = np.concatenate(first[0] + first[1]) != 0
    assert 0.4 < kept.mean() < 0.6


def test_initial_weights_are_equal_on_all_replicas_and_in_every_strategy():
    def weights(strategy, lazily):
        keras.utils.set_random_seed(11)
        with strategy.scope():
            model = keras.Sequential([keras.layers.Dense(3), keras.layers.Dense(2)])
            if not lazily:
                model.build((None, 4))
        strategy.run(lambda: model(jnp.ones((1, 4))))
        for variable in model.weights:
            shards = [np.asarray(shard.data) for shard in variable.value.addressable_shards]
            assert all(np.array_equal(shard, shards[0]) for shard in shards)
        return [w.tobytes() for w in model.get_weights()]

    expected = weights(OneDeviceStrategy("/cpu:0"), lazily=False)
    for strategy in (mirrored(4), central(2)):
        for lazily in (False, True):
            assert weights(strategy, lazily) == expected


# gradients


@pytest.mark.parametrize("kind", [mirrored, central])
@pytest.mark.parametrize("clip", [{"clipnorm": 0.5}, {"global_clipnorm": 0.5}, {"clipvalue": 0.1}])
def test_gradients_are_clipped_after_they_are_summed(kind, clip):
    x = RNG.normal(size=(8, 3)).astype("float32") * 5
    results = []
    for strategy in (OneDeviceStrategy("/cpu:0"), kind(4)):
        with strategy.scope():
            w, b = sx.Variable(np.ones(3, "float32")), sx.Variable(0.0)
            optimizer = keras.optimizers.SGD(0.1, **clip)

        def replica_step(x, w=w, b=b, optimizer=optimizer):
            loss = lambda: sx.distribute.compute_average_loss((x @ w.value + b) ** 2)  # noqa: E731
            _, gradients = sx.value_and_grad(loss, [w, b])()
            optimizer.apply_gradients(zip(gradients, [w, b], strict=True))

        step = sx.function(lambda x, s=strategy, f=replica_step: s.run(f, args=(x,)))
        for batch in strategy.experimental_distribute_dataset([x, x[:6]]):
            step(batch)
        results.append([*w.numpy(), b.numpy()])
    assert not np.allclose(results[0], [1, 1, 1, 0], atol=1e-3)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [mirrored, central])
def test_an_infinite_gradient_on_one_replica_skips_the_step_on_all_and_halves_the_scale_once(kind):
    strategy = kind(4)
    with strategy.scope():
        v = sx.Variable(np.zeros(2, "float32"))
        optimizer = keras.optimizers.LossScaleOptimizer(
            keras.optimizers.SGD(1.0), initial_scale=8.0, dynamic_growth_steps=100
        )
        optimizer.build([v])
    step = sx.function(lambda g: strategy.run(lambda g: optimizer.apply_gradients([(g, v)]), args=(g,)))

    def gradients(bad):
        return strategy.experimental_distribute_values_from_function(
            lambda c: np.full(2, np.inf if c.replica_id_in_sync_group == bad else 8.0, "float32")
        )

    step(gradients(bad=None))
    assert v.numpy().tolist() == [-4, -4]
    step(gradients(bad=2))
    assert v.numpy().tolist() == [-4, -4]
    assert float(optimizer.dynamic_scale.value) == 4
    assert int(optimizer.inner_optimizer.iterations.value) == 1
    step(gradients(bad=None))
    assert v.numpy().tolist() == [-12, -12]
    assert int(optimizer.inner_optimizer.iterations.value) == 2


def test_a_gradient_of_none_is_left_out(four):
    with four.scope():
        v, w = sx.Variable(0.0), sx.Variable(5.0)
        optimizer = keras.optimizers.SGD(1.0)
        optimizer.build([v, w])
    with pytest.warns(UserWarning, match="Gradients do not exist"):
        four.run(lambda: optimizer.apply_gradients([(jnp.float32(1), v), (None, w)]))
    assert (float(v.value), float(w.value)) == (-4, 5)


# where variables and optimizers are made does not matter


@pytest.mark.parametrize("model_inside", [True, False])
@pytest.mark.parametrize("optimizer_inside", [True, False])
def test_a_custom_loop_works_wherever_model_and_optimizer_were_made(four, model_inside, optimizer_inside):
    def make(inside, factory):
        if not inside:
            return factory()
        with four.scope():
            return factory()

    v = make(model_inside, lambda: sx.Variable(np.full(2, 3, "float32")))
    optimizer = make(optimizer_inside, lambda: keras.optimizers.Adam(0.1))

    def replica_step(x):
        loss, gradients = sx.value_and_grad(lambda: (v.value * x).sum(), [v])()
        optimizer.apply_gradients(zip(gradients, [v], strict=True))
        return loss

    step = sx.function(lambda: four.run(replica_step, args=(2.0,)))
    step()
    step()
    np.testing.assert_allclose(v.numpy(), 3 - 0.2, atol=1e-5)
    assert v.value.devices() == set(four.devices)
    assert step.num_programs == 1


def test_two_models_and_optimizers_train_in_one_function(four):
    """The two steps of a GAN, compiled into one program, against one device."""
    noise = RNG.normal(size=(8, 2)).astype("float32")
    real = RNG.normal(size=(8, 3)).astype("float32") + 2
    entropy = keras.losses.BinaryCrossentropy(from_logits=True, reduction="none")
    results = []
    for strategy in (OneDeviceStrategy("/cpu:0"), four):
        keras.utils.set_random_seed(5)
        with strategy.scope():
            generator = keras.Sequential([keras.layers.Dense(4, "tanh"), keras.layers.Dense(3)])
            critic = keras.Sequential([keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
            generator.build((None, 2))
            critic.build((None, 3))
            optimizers = keras.optimizers.Adam(0.01), keras.optimizers.SGD(0.1)

        def replica_step(noise, real, generator=generator, critic=critic, optimizers=optimizers):
            def mean(labels, logits):
                return sx.distribute.compute_average_loss(entropy(labels, logits))

            with sx.GradientTape() as g_tape, sx.GradientTape() as c_tape:
                fake = generator(noise, training=True)
                on_real, on_fake = critic(real, training=True), critic(fake, training=True)
                g_loss = mean(jnp.ones_like(on_fake), on_fake)
                c_loss = mean(jnp.ones_like(on_real), on_real) + mean(jnp.zeros_like(on_fake), on_fake)
            for tape, loss, model, optimizer in zip(
                (g_tape, c_tape), (g_loss, c_loss), (generator, critic), optimizers, strict=True
            ):
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return g_loss, c_loss

        step = sx.function(
            lambda *batch, s=strategy, f=replica_step: s.reduce("sum", s.run(f, args=batch), axis=None)
        )
        losses = []
        for _ in range(2):
            for batch in strategy.experimental_distribute_dataset([(noise, real), (noise[:5], real[:5])]):
                losses.append([float(loss) for loss in step(*batch)])
        results.append((losses, [w for m in (generator, critic) for w in m.get_weights()]))
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-5)
    for mine, expected in zip(results[1][1], results[0][1], strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-5)
