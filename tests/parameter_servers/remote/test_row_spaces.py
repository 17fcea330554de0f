"""Tables whose rows are looked up are pulled and pushed by rows, and train as on one device."""

import contextlib

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
import stratax.tf as tf
from stratax.parameter_servers.remote import FixedShardsPartitioner
from stratax.parameter_servers.servers import Shards, _wire
from tests.distribute.parameter_servers import one_device, strategy_on
from tests.parameter_servers.coordination.clusters import in_process
from tests.stressed import but

ROWS = 20_000
TABLE_BYTES = ROWS * 4 * 4


@pytest.fixture
def one_server():
    with strategy_on(1) as strategy:
        yield strategy


@pytest.fixture
def divided():
    with strategy_on(2, FixedShardsPartitioner(3)) as strategy:
        yield strategy


@pytest.fixture
def sent(monkeypatch):
    """The bytes of all arrays that are sent, one number a message."""
    sizes = []
    send = _wire.send

    def counting(writer, header, arrays=()):
        sizes.append(sum(array.nbytes for array in arrays if header.get("op") != "define"))
        send(writer, header, arrays)

    monkeypatch.setattr(_wire, "send", counting)
    return sizes


@contextlib.contextmanager
def looked_up(monkeypatch):
    """Give the numbers of the rows that servers are asked for."""
    asked = []
    rows = Shards.rows

    def noting(self, names, numbers):
        asked.extend(zip(names, [each.tolist() for each in numbers], strict=True))
        return rows(self, names, numbers)

    with monkeypatch.context() as patch:
        patch.setattr(Shards, "rows", noting)
        yield asked


# Rows of all shards, some of them several times.
BATCHES = [
    np.array(batch, "int32")
    for batch in (
        [[3, 3, 19_999], [0, 7_000, 3]],
        [[3, 1, 1], [6_667, 6_666, 13_334]],
        [[5, 5, 5], [5, 5, 5]],
    )
]


def values(rows=ROWS, width=4):
    return np.random.default_rng(0).normal(size=(rows, width)).astype("float32")


def trained(strategy, loss_of, make_optimizer, num_tables=1, batches=BATCHES):
    """Losses, tables and slots after a loop with a weight besides."""
    with strategy.scope():
        tables = [tf.Variable(values(), name=f"table{index}") for index in range(num_tables)]
        weight = tf.Variable(np.ones(4, "float32"), name="weight")
        optimizer = make_optimizer()
    variables = [*tables, weight]

    def step(ids):
        with tf.GradientTape() as tape:
            loss = loss_of(ids, *variables)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    losses = [float(strategy.run(step, args=(ids,))) for ids in batches]
    return losses, [variable.numpy() for variable in [*variables, *optimizer.variables]]


def compare(strategy, loss_of, make_optimizer=lambda: keras.optimizers.SGD(0.1), *, exact=True, **kwargs):
    losses, found = trained(strategy, loss_of, make_optimizer, **kwargs)
    expected_losses, expected = trained(one_device(), loss_of, make_optimizer, **kwargs)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    for left, right in zip(found, expected, strict=True):
        if exact:
            np.testing.assert_array_equal(left, right)
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


def simple(ids, table, weight):
    return tf.reduce_mean((tf.gather(table, ids) * weight) ** 2)


def test_a_step_asks_each_server_for_its_rows_once(divided, monkeypatch):
    with looked_up(monkeypatch) as asked:
        trained(divided, simple, lambda: keras.optimizers.SGD(0.1), batches=BATCHES[:1])
    assert sorted(asked) == [
        ("table0/part_0", [0, 3]),
        ("table0/part_1", [7_000 - 6_667]),
        ("table0/part_2", [19_999 - 13_334]),
    ]


def test_bytes_are_those_of_the_rows(divided, sent):
    with divided.scope():
        table = tf.Variable(values(), name="table")
        optimizer = keras.optimizers.SGD(0.1)

    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids) ** 2)
        optimizer.apply_gradients([(tape.gradient(loss, table), table)])
        return loss

    for ids in BATCHES:
        divided.run(step, args=(ids,))
    store = divided.extended.placement.store
    store.servers.settle()
    del sent[:]
    divided.run(step, args=(BATCHES[0],))
    store.servers.settle()
    # Of 4 rows: numbers and values, both ways; and the learning rate's copies.
    assert sum(sent) <= 2 * 4 * (4 + 16) + 3 * 8
    assert all(size < TABLE_BYTES / 100 for size in sent)
    assert not any("table" in name for _, name in store.puller._known)


def test_sgd_gives_the_bits_of_one_device(divided):
    compare(divided, simple)


@pytest.mark.parametrize(
    "make",
    [
        lambda: keras.optimizers.Adagrad(0.1),
        lambda: keras.optimizers.Adam(0.1),
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.SGD(0.1, weight_decay=0.01),
        lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.01),
        lambda: keras.optimizers.SGD(0.1, clipnorm=0.01),
        lambda: keras.optimizers.Adagrad(0.1, clipvalue=0.01),
        lambda: keras.optimizers.RMSprop(0.1),
        lambda: keras.optimizers.Ftrl(0.1),
        lambda: keras.optimizers.Lamb(0.1),
        lambda: keras.optimizers.Adafactor(0.1),
        lambda: keras.optimizers.Adam(0.1, use_ema=True, ema_overwrite_frequency=2),
        lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)),
        lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2),
    ],
)
@pytest.mark.parametrize("partitioner", but(bool, [None, FixedShardsPartitioner(3)]))
def test_optimizers_give_what_they_give_on_one_device(partitioner, make):
    with strategy_on(2, partitioner) as strategy:
        compare(strategy, simple, make, exact=False)


def in_several_lookups(ids, first, second, weight):
    # One table in two places, the other through ids of its own, of which some are out of range.
    found = tf.gather(first, ids) + tf.nn.embedding_lookup(first, ids + 1)
    other = jnp.take(second.value, ids * 2, axis=0, mode="clip") + jnp.take(
        second.value, -ids - 1, axis=0, mode="fill"
    )
    return tf.reduce_mean((found + other) ** 2 * weight)


def test_several_lookups_of_several_tables(divided, monkeypatch):
    batches = [batch % 9_999 for batch in BATCHES]
    with looked_up(monkeypatch) as asked:
        compare(divided, in_several_lookups, num_tables=2, batches=batches)
    assert {name.partition("/")[0] for name, _ in asked} == {"table0", "table1"}


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_ids_out_of_range_give_what_they_give_on_one_device(one_server, monkeypatch, mode):
    batches = [np.array([[ROWS, -ROWS - 1, 3], [-1, 2**31 - 1, -(2**31)]], "int32")]

    def loss_of(ids, table, weight):
        found = jnp.take(table.value, ids, axis=0, mode=mode)
        return tf.reduce_sum(jnp.where(jnp.isnan(found), 0.5, found) * weight)

    with looked_up(monkeypatch) as asked:
        compare(one_server, loss_of, batches=batches)
    assert asked


def test_a_table_in_half_precision_is_looked_up_by_rows(one_server, monkeypatch):
    def loss_of(ids, table, weight):
        rows = tf.gather(tf.cast(table, "bfloat16") * 2, ids)
        return tf.reduce_mean(tf.cast(rows, "float32") ** 2 * weight)

    with looked_up(monkeypatch) as asked:
        compare(one_server, loss_of)
    assert asked


def test_a_lookup_that_is_computed_again_for_its_gradient(one_server, monkeypatch):
    @jax.checkpoint
    def found(table, ids):
        return jnp.sin(jnp.take(table, ids, axis=0))

    def loss_of(ids, table, weight):
        return tf.reduce_mean(found(table.value, ids) * weight)

    with looked_up(monkeypatch) as asked:
        compare(one_server, loss_of, exact=False)
    assert asked


def tied(ids, table, weight):
    return tf.reduce_mean(tf.matmul(tf.gather(table, ids[0]) * weight, table, transpose_b=True) ** 2)


def regularised(ids, table, weight):
    return simple(ids, table, weight) + 1e-6 * tf.reduce_sum(table**2)


def in_a_loop(ids, table, weight):
    return jax.lax.fori_loop(
        0, 2, lambda i, total: total + jnp.mean(jnp.take(table.value, ids[i], axis=0) * weight.value), 0.0
    )


def in_a_branch(ids, table, weight):
    return jax.lax.cond(
        ids[0, 0] > 2, lambda: jnp.mean(jnp.take(table.value, ids, axis=0) * weight.value), lambda: 0.0
    )


def by_its_own_values(ids, table, weight):
    again = tf.cast(tf.abs(tf.gather(table, ids)[..., 0]) * 10, "int32")
    return tf.reduce_mean(tf.gather(table, again) * weight)


def with_a_column(ids, table, weight):
    return simple(ids, table, weight) + tf.reduce_mean(tf.gather(table, ids % 4, axis=1))


@pytest.mark.parametrize(
    "loss_of", [tied, regularised, in_a_loop, in_a_branch, by_its_own_values, with_a_column]
)
def test_a_table_that_is_used_otherwise_too_is_pulled_as_a_whole(divided, monkeypatch, loss_of):
    with looked_up(monkeypatch) as asked:
        compare(divided, loss_of, exact=False)
    assert not asked


def test_a_small_table_is_pulled_as_a_whole(one_server, monkeypatch):
    with one_server.scope():
        table = tf.Variable(values(rows=100))
    with looked_up(monkeypatch) as asked:
        assert one_server.run(lambda ids: tf.gather(table, ids), args=(BATCHES[2],)).shape == (2, 3, 4)
    assert not asked


def embedded(strategy):
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input((3,), dtype="int32"),
                keras.layers.Embedding(ROWS, 4),
                keras.layers.Flatten(),
                keras.layers.Dense(1),
            ]
        )
        model.compile(keras.optimizers.SGD(0.5), "mse")
    return model


def test_fit_evaluate_and_predict_look_up_rows(one_server, monkeypatch, sent):
    x = np.concatenate(BATCHES)
    y = np.arange(6, dtype="float32")[:, None]
    model = embedded(one_server)
    del sent[:]
    with looked_up(monkeypatch) as asked:
        model.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0)
        assert asked
        del asked[:]
        loss, predicted = model.evaluate(x, y, verbose=0), model.predict(x, verbose=0)
        assert len(asked) == 2
    assert max(sent) < TABLE_BYTES / 10
    expected = embedded(one_device())
    expected.fit(x, y, batch_size=2, epochs=2, shuffle=False, verbose=0)
    assert loss == pytest.approx(expected.evaluate(x, y, verbose=0), rel=1e-6)
    np.testing.assert_allclose(predicted, expected.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


def test_a_worker_looks_up_rows(monkeypatch, sent):
    with in_process(servers=2, partitioner=FixedShardsPartitioner(2)) as coordinator:
        strategy = coordinator.strategy
        with strategy.scope():
            table = tf.Variable(values(), name="table")
            optimizer = keras.optimizers.SGD(0.1)
        del sent[:]

        def replica_fn(ids):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.gather(table, ids) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, table), table)])
            return loss

        iterator = iter(
            coordinator.create_per_worker_dataset(
                lambda: sx.data.Dataset.from_tensor_slices(np.stack(BATCHES))
            )
        )
        with looked_up(monkeypatch) as asked:
            losses = [
                coordinator.schedule(lambda it: strategy.run(replica_fn, args=(next(it),)), args=(iterator,))
                for _ in BATCHES
            ]
            found = coordinator.fetch(losses)
        assert ("table/part_0", [0, 3, 7_000]) in asked
        assert max(sent) < TABLE_BYTES / 10
        result = table.numpy()

    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.gather(other, ids) ** 2)
        one.apply_gradients([(tape.gradient(loss, other), other)])
        return loss

    with one_device().scope():
        other = tf.Variable(values())
        one = keras.optimizers.SGD(0.1)
    np.testing.assert_allclose(found, [one_device().run(step, args=(ids,)) for ids in BATCHES], rtol=1e-6)
    np.testing.assert_array_equal(result, other.numpy())
