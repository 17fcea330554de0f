"""`ShardedStrategy`: devices have parts of large variables, and the numbers are one device's."""

import contextlib
import gc
import re

import jax
import keras
import numpy as np
import pytest
from jax.interpreters.partial_eval import dce_jaxpr

import stratax as sx
from stratax import cluster, errors
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, ShardedStrategy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(44, 128)).astype("float32")
Y = RNG.integers(0, 5, 44)
CPUS = [f"/cpu:{index}" for index in range(8)]


def make_model():
    keras.utils.set_random_seed(5)
    return keras.Sequential(
        [
            keras.layers.Input((128,)),
            keras.layers.Dense(64, "relu", name="first"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(128, "relu", name="second"),
            keras.layers.Dense(5, name="third"),
        ]
    )


def compiled(strategy, **options):
    with strategy.scope():
        model = make_model()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # Of what rounding leaves of a gradient that is nearly zero, Adam makes a whole step.
        options = {"optimizer": keras.optimizers.SGD(0.05, momentum=0.9), **options}
        model.compile(loss=loss, metrics=["accuracy"], **options)
    return model


def trained(strategy, batch_size=24, rows=44, **options):
    """Train, evaluate and predict with batches the last of which is smaller than the others."""
    # Statistics of two or three rows in a replica would make much of what rounding leaves.
    model = compiled(strategy, **options)
    x, y = X[:rows], Y[:rows]
    history = model.fit(x, y, batch_size=batch_size, epochs=2, shuffle=False, verbose=0)
    evaluated = model.evaluate(x, y, batch_size=batch_size, verbose=0)
    predicted = model.predict(x, batch_size=batch_size, verbose=0)
    return model, history.history["loss"], evaluated, predicted


def check_alike(found, expected):
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5)
    np.testing.assert_allclose(found[3], expected[3], rtol=1e-4, atol=1e-4)
    for variable, theirs in zip(found[0].variables, expected[0].variables, strict=True):
        np.testing.assert_allclose(variable.numpy(), theirs.numpy(), atol=1e-5, err_msg=variable.path)


@pytest.mark.exact
@pytest.mark.parametrize(
    ("count", "replicas", "model", "options"),
    [
        (4, 1, 1, {}),
        (8, 2, 1, {"optimizer": lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.3)}),
        (4, 1, 1, {"steps_per_execution": 3}),
        (2, 1, 1, {"optimizer": lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)}),
        (2, 1, 1, {"optimizer": lambda: keras.optimizers.Adafactor(0.01, clipnorm=0.5)}),
        (2, 1, 2, {"optimizer": lambda: keras.optimizers.SGD(0.1, momentum=0.9, clipnorm=0.5)}),
        (4, 1, 2, {"steps_per_execution": 3}),
        (8, 2, 2, {"optimizer": lambda: keras.optimizers.SGD(0.1, global_clipnorm=0.3)}),
    ],
)
def test_fit_evaluate_and_predict_give_what_whole_replicas_give(count, replicas, model, options):
    def made():
        return {key: value() if callable(value) else value for key, value in options.items()}

    expected = trained(MirroredStrategy(CPUS[: count // model]), **made())
    layout = {
        "first/kernel": ("shard", "model"),
        "second/kernel": ("model", "shard"),
        "second/bias": ("model",),
    }
    found = trained(
        ShardedStrategy(CPUS[:count], replicas=replicas, model=model, layout=layout if model > 1 else None),
        **made(),
    )
    check_alike(found, expected)
    kernel = found[0].get_layer("first").kernel
    part = (128 * model * replicas // count, 64 // model)
    assert kernel.value.sharding.shard_shape(kernel.shape) == part
    slots = [each for each in found[0].optimizer.variables if each.shape == (128, 64)]
    assert all(each.value.sharding.shard_shape(each.shape) == part for each in slots)


def test_what_is_assigned_loaded_and_copied_stays_in_parts(tmp_path):
    strategy = ShardedStrategy(CPUS[:4])
    model = compiled(strategy)
    kernel = model.get_layer("second").kernel
    for change in (
        lambda: kernel.assign(np.ones((64, 128))),
        lambda: kernel.assign_add(np.ones((64, 128))),
        lambda: model.set_weights([np.zeros(each.shape) for each in model.weights]),
        lambda: (
            model.save_weights(tmp_path / "a.weights.h5"),
            model.load_weights(tmp_path / "a.weights.h5"),
        ),
    ):
        change()
        assert kernel.value.sharding.shard_shape(kernel.shape) == (64, 32)


def test_assignments_in_replicas_and_reads_across_them_see_whole_values():
    strategy = ShardedStrategy(CPUS[:4], layout={"v": ("shard",)})
    with strategy.scope():
        v = sx.Variable(np.arange(8.0, dtype=np.float32), name="v", aggregation="mean")

    @sx.function
    def step():
        def replica():
            index = sx.distribute.get_replica_context().replica_id_in_sync_group
            v.assign_add(jax.numpy.full(8, index, "float32"))
            return v * 1.0

        return strategy.run(replica), v + 0.0

    seen, after = step()
    np.testing.assert_allclose(after, np.arange(8) + 1.5)
    for value in strategy.experimental_local_results(seen):
        np.testing.assert_allclose(value, np.arange(8) + 1.5)
    assert v.value.sharding.shard_shape((8,)) == (2,)
    np.testing.assert_allclose(strategy.run(lambda: v[3] + v[7]).values[2], 4.5 + 8.5)


@pytest.mark.exact
def test_a_read_behind_the_optimizer_sees_what_it_has_done_and_hand_made_sums_count_once():
    def run(strategy):
        with strategy.scope():
            v = sx.Variable(np.ones(8, np.float32), name="v")
            optimizer = keras.optimizers.SGD(0.5)
            optimizer.build([v])

        @sx.function
        def step(x):
            def replica(x):
                _, (gradient,) = sx.value_and_grad(lambda: jax.numpy.sum(v * x), [v])()
                total = sx.distribute.get_replica_context().all_reduce("sum", gradient)
                optimizer.apply_gradients([(gradient, v)])
                return v + 0.0, total

            return strategy.run(replica, (x,))

        values = strategy.experimental_distribute_values_from_function(
            lambda context: np.full(8, 1.0 + context.replica_id_in_sync_group, np.float32)
        )
        seen, total = step(values)
        return [*strategy.experimental_local_results((seen, total)), v.numpy()]

    expected = run(MirroredStrategy(CPUS[:4]))
    found = run(ShardedStrategy(CPUS[:4], layout={"v": ("shard",)}))
    jax.tree.map(np.testing.assert_allclose, found, expected)


@pytest.mark.exact
def test_checkpoints_are_restored_by_other_strategies_to_the_bit(tmp_path):
    model = compiled(ShardedStrategy(CPUS[:4]))
    model.fit(X, Y, batch_size=8, verbose=0)
    path = sx.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(tmp_path / "c"))
    state = [*model.variables, *model.optimizer.variables]
    for strategy, rows in (
        (MirroredStrategy(CPUS[:2]), 128),
        (ShardedStrategy(CPUS[:8], replicas=2), 32),
        (ShardedStrategy(CPUS[:8], model=2, layout={"(first|second)/kernel": ("model", "shard")}), 64),
        # No dimension divides by 5.
        (ShardedStrategy(CPUS[:5]), 128),
        (sx.distribute.OneDeviceStrategy("/cpu:3"), 128),
    ):
        other = compiled(strategy)
        with strategy.scope():
            other.optimizer.build(other.trainable_variables)
        sx.train.Checkpoint(model=other, optimizer=other.optimizer).restore(path).assert_consumed()
        for mine, theirs in zip([*other.variables, *other.optimizer.variables], state, strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), err_msg=mine.path)
        kernel = other.get_layer("first").kernel
        assert kernel.value.sharding.shard_shape(kernel.shape)[0] == rows


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"replicas": 3}, errors.BadArgumentError, r"one of \[1, 2, 4\]. Received: replicas=3"),
        ({"replicas": 0}, errors.BadArgumentError, "Received: replicas=0"),
        ({"replicas": -1}, errors.BadArgumentError, "Received: replicas=-1"),
        ({"model": -2}, errors.BadArgumentError, "Received: model=-2"),
        ({"model": False}, errors.BadTypeError, "Received: model=False"),
        ({"replicas": True}, errors.BadTypeError, "Received: replicas=True"),
        ({"model": 3}, errors.BadArgumentError, r"one of \[1, 2, 4\]. Received: model=3"),
        ({"replicas": 2, "model": 4}, errors.BadArgumentError, r"one of \[1, 2\]. Received: model=4"),
        ({"model": 1.0}, errors.BadTypeError, "Received: model=1.0"),
        ({"layout": 3}, errors.BadTypeError, "layout must be a mapping"),
        ({"devices": ["/cpu:0", "/cpu:0"]}, errors.BadArgumentError, "twice"),
        ({"cluster_resolver": 3}, errors.BadTypeError, "cluster_resolver must be a .*ClusterResolver"),
    ],
)
def test_bad_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        ShardedStrategy(**{"devices": CPUS[:4], **options})


def test_the_table_tells_where_variables_are_and_slots_lie_as_their_variables():
    strategy = ShardedStrategy(CPUS[:4], layout={r"/first/kernel$": None, r"second/kernel": ("shard", None)})
    with strategy.scope():
        layers = [keras.layers.Dense(128, name=name) for name in ("first", "second", "third")]
        model = keras.Sequential([keras.layers.Input((128,)), *layers], name="net")
        model.compile(keras.optimizers.SGD(momentum=0.9, name="sgd"), "mse")
        model.optimizer.build(model.trainable_variables)
    printed = []
    strategy.layout_table(layers[0].variables + layers[1].variables, printed.append)
    rows = [[cell for cell in row.split("  ") if cell.strip()] for row in printed[0].splitlines()]
    assert [cell.strip() for cell in rows[1]] == [
        "net/first/kernel",
        "128x128",
        "65,536",
        "'/first/kernel$': None",
    ]
    assert [cell.strip() for cell in rows[3][:4]] == ["net/second/kernel", "128x128", "shard", "16,384"]
    assert [cell.strip() for cell in rows[-1]] == ["82,944", "of 132,096 in all"]
    # A copy on each device, as its variable, though no rule matches it.
    slots = {each.path: each.value.sharding.shard_shape(each.shape) for each in model.optimizer.variables}
    assert slots["sgd/net_first_kernel_momentum"] == (128, 128)
    assert slots["sgd/net_second_kernel_momentum"] == (32, 128)
    printed.clear()
    strategy.layout_table(model, printed.append)
    (row,) = [each.split() for each in printed[0].splitlines() if each.startswith("sgd/net_first_kernel")]
    assert row[1:3] == ["128x128", "65,536"]


def test_rules_that_decide_about_nothing_and_what_is_no_model_are_refused():
    strategy = ShardedStrategy(CPUS[:2], layout={"kernel": ("shard",), "dense/kernel": None, "tabel": None})
    layer = keras.layers.Dense(4, name="dense")
    layer.build((None, 4))
    with pytest.raises(
        errors.BadArgumentError, match="hidden by an earlier .* 'tabel': None matches no variable"
    ):
        strategy.layout_table(layer)
    with pytest.raises(errors.BadTypeError, match="expects a model, an optimizer, a list"):
        strategy.layout_table("dense")


def test_no_device_has_more_than_its_parts_and_one_variable_while_a_model_is_made():
    strategy = ShardedStrategy(CPUS[:4])
    whole = []

    class Looking(keras.initializers.Initializer):
        def __call__(self, shape, dtype=None):
            gc.collect()
            arrays = [each for each in jax.live_arrays() if each.size >= 128 * 64]
            whole.append([each.shape for each in arrays if len(each.devices()) == 1])
            return keras.initializers.GlorotUniform(1)(shape, dtype)

    with strategy.scope():
        # Made by the first call, and by `build` of the optimizer.
        model = keras.Sequential([keras.layers.Dense(128, kernel_initializer=Looking()) for _ in range(4)])
        model.compile(keras.optimizers.Adam())
        model.build((None, 128))
        model.optimizer.build(model.trainable_variables)
    Looking()((1, 1))
    assert whole == [[]] * 5
    for variable in [*model.variables, *model.optimizer.variables]:
        if variable.ndim == 2:
            assert variable.value.sharding.shard_shape((128, 128)) == (32, 128)
    expected = keras.initializers.GlorotUniform(1)((128, 128))
    np.testing.assert_array_equal(model.layers[2].kernel.numpy(), expected)


@pytest.mark.exact
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_batches_may_have_fewer_rows_than_there_are_devices(rows):
    # Each replica normalizes its own rows.
    strategies = ShardedStrategy(CPUS), MirroredStrategy(CPUS)
    check_alike(*(trained(strategy, 8, rows=rows) for strategy in strategies))


@pytest.mark.exact
def test_a_vocabulary_that_does_not_divide_is_told_and_trains():
    def run(strategy):
        keras.utils.set_random_seed(3)
        with strategy.scope():
            table = keras.layers.Embedding(1025, 1025, name="table")
            model = keras.Sequential([keras.layers.Input((4,), dtype="int32"), table])
            model.add(keras.layers.Dense(1025, name="head"))
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss)
        ids = RNG.integers(0, 1025, (12, 4))
        return model.fit(ids, ids, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]

    state = RNG.bit_generator.state
    expected = run(MirroredStrategy(CPUS[:1]))
    RNG.bit_generator.state = state
    with pytest.warns(UserWarning, match="has no dimension that 4 devices divide") as told:
        np.testing.assert_allclose(run(ShardedStrategy(CPUS[:4])), expected, rtol=1e-5)
    # Other libraries may warn, too.
    found = (re.search("'[^']*/([^']*)' of shape", str(each.message)) for each in told)
    assert [each.group(1) for each in found if each] == ["embeddings", "kernel"]


@pytest.mark.parametrize(("kind", "num_gathers"), [("none", 2), ("function", 3), ("tape", 3)])
def test_weights_travel_in_half_precision_and_their_gradients_are_summed_in_full(kind, num_gathers):
    strategy = ShardedStrategy(CPUS[:4], replicas=2)
    with strategy.scope():
        layers = [keras.layers.Dense(128, "tanh", dtype="mixed_bfloat16", name=name) for name in ("a", "b")]
        model = keras.Sequential([keras.layers.Input((128,)), *layers])
        optimizer = keras.optimizers.SGD()
        optimizer.build(model.trainable_variables)

    def replica(x):
        def loss():
            return sx.distribute.compute_average_loss(keras.ops.mean(model(x), -1))

        if kind == "none":
            return loss()
        if kind == "tape":
            with sx.GradientTape() as tape:
                value = loss()
            gradients = tape.gradient(value, model.trainable_variables)
        else:
            value, gradients = sx.value_and_grad(loss, model.trainable_variables)()
        optimizer.apply(gradients, model.trainable_variables)
        return value

    (batch,) = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X[:8]).batch(8))
    traced = sx.function(lambda x: strategy.run(replica, (x,))).jaxpr(batch).jaxpr
    # A tape is given the whole before it is converted, too, which nothing uses.
    text = str(dce_jaxpr(traced, [True] * len(traced.outvars))[0])
    assert re.findall(r"(\w+)\[128,128\] = all_gather", text) == ["bf16"] * num_gathers
    assert re.findall(r"(\w+)\[64,128\] = reduce_scatter", text) == ["f32"] * (2 * (kind != "none"))
    # Of biases, and of parts among the groups.
    assert set(re.findall(r":(\w+)\[[^\]]*\] = psum", text)) <= {"f32"}


@pytest.mark.parametrize("with_tape", [False, True])
def test_a_loop_in_a_layer_of_mixed_precision_updates_in_full_precision(with_tape):
    class Repeated(keras.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(128, 128), name="kernel")
            self.total = self.add_weight(shape=(128, 128), name="total", trainable=False)

        def call(self, x):
            for _ in sx.range(3):
                x = keras.ops.tanh(keras.ops.matmul(x, self.kernel))
                self.total.assign(self.total.value + self.kernel / 3)
            return x

    def run(strategy):
        keras.utils.set_random_seed(2)
        with strategy.scope():
            layer = Repeated(dtype="mixed_bfloat16")
            layer.build((None, 128))
            optimizer = keras.optimizers.SGD(0.1)
            optimizer.build([layer.kernel])

        def replica(x):
            def loss():
                return sx.distribute.compute_average_loss(keras.ops.mean(layer(x) ** 2, -1))

            if with_tape:
                with sx.GradientTape() as tape:
                    value = loss()
                gradients = tape.gradient(value, [layer.kernel])
            else:
                value, gradients = sx.value_and_grad(loss, [layer.kernel])()
            optimizer.apply(gradients, [layer.kernel])
            return value

        (batch,) = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X[:8]).batch(8))
        value = sx.function(lambda x: strategy.reduce("sum", strategy.run(replica, (x,)), axis=None))(batch)
        return value, layer.kernel.numpy(), layer.total.numpy()

    for found, expected in zip(run(ShardedStrategy(CPUS[:2])), run(MirroredStrategy(CPUS[:2])), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-2, atol=1e-4)


def test_an_interrupted_fit_leaves_parts_and_goes_on():
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 2:
                raise KeyboardInterrupt

    def run(interrupted):
        model = compiled(ShardedStrategy(CPUS[:4]))
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[Interrupt()])
        else:
            model.fit(X[:24], Y[:24], batch_size=8, shuffle=False, verbose=0)
        kernel = model.get_layer("second").kernel
        assert kernel.value.sharding.shard_shape((64, 128)) == (64, 32)
        return model.fit(X, Y, batch_size=8, shuffle=False, verbose=0).history["loss"]

    assert run(True) == run(False)


def make_decoder():
    keras.utils.set_random_seed(1)
    tokens = keras.Input((8,), dtype="int32")
    x = keras.layers.Embedding(128, 128)(tokens)
    x = x + keras.layers.Dense(128, "tanh")(x)
    return keras.Model(tokens, keras.layers.Dense(128)(x))


def sample(model, tokens):
    """Write the likeliest token behind the others, again and again, as keras-hub's samplers do."""

    def write(place, tokens):
        found = keras.ops.argmax(model(tokens)[:, place], -1)
        return place + 1, keras.ops.slice_update(
            tokens, (0, place + 1), keras.ops.cast(found[:, None], "int32")
        )

    return keras.ops.while_loop(lambda place, _: place < 7, write, (0, tokens))[1]


def sample_in_range(model, tokens):
    for place in sx.range(7):
        found = keras.ops.argmax(model(tokens)[:, place], -1)
        tokens = tokens.at[:, place + 1].set(found.astype("int32"))
    return tokens


def list_copies():
    """Of large arrays those that several devices have whole."""
    gc.collect()
    large = [each for each in jax.live_arrays() if each.size >= 1 << 14 and len(each.devices()) > 1]
    return [each.shape for each in large if each.sharding.is_fully_replicated]


@pytest.fixture(scope="module")
def sampled():
    prompts = np.arange(32, dtype="int32").reshape(4, 8)
    with OneDeviceStrategy("/cpu:0").scope():
        model = make_decoder()
    return prompts, np.asarray(sx.function(lambda tokens: sample(model, tokens))(prompts))


@pytest.mark.parametrize("write", [sample, sample_in_range])
def test_a_sampler_gathers_each_weight_where_it_is_read_and_keeps_none(sampled, write):
    prompts, expected = sampled
    strategy = ShardedStrategy(CPUS[:4])
    with strategy.scope():
        model = make_decoder()
    before = list_copies()
    # Without replicas XLA exchanges activations, which are smaller.
    np.testing.assert_array_equal(sx.function(lambda tokens: write(model, tokens))(prompts), expected)
    run = sx.function(lambda tokens: strategy.gather(strategy.run(lambda x: write(model, x), (tokens,)), 0))
    (batch,) = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(prompts).batch(4))
    np.testing.assert_array_equal(run(batch), expected)
    model.predict(prompts, verbose=0)
    model(prompts)
    assert list_copies() == before
    loops = re.findall(r"f32\[128,128\] = all_gather", str(run.jaxpr(batch)))
    # Three weights, once each in the body of the loop.
    assert len(loops) == 3


def test_a_sampler_of_plain_jax_keeps_parts(sampled):
    prompts, expected = sampled
    with ShardedStrategy(CPUS[:4]).scope():
        model = make_decoder()

    @jax.jit
    def generate(values, tokens):
        with keras.StatelessScope(state_mapping=list(zip(model.variables, values, strict=True))):
            return sample(model, tokens)

    given = [variable.value for variable in model.variables], prompts
    np.testing.assert_array_equal(generate(*given), expected)
    text = generate.lower(*given).compile().as_text()
    assert "all-reduce" in text
    assert not re.search(r"f32\[128,128\]\S* all-gather", text)


@pytest.mark.exact
def test_models_that_are_loaded_and_lora_keep_their_parts_and_go_on(tmp_path):
    def run(strategy):
        model = compiled(strategy)
        model.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
        model.save(tmp_path / "model.keras")
        with strategy.scope():
            loaded = keras.models.load_model(tmp_path / "model.keras")
            loaded.get_layer("second").enable_lora(4)
            loaded.compile(keras.optimizers.Adam(0.01), loaded.loss)
        history = loaded.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
        return loaded, history.history["loss"]

    (_, expected), (model, found) = run(MirroredStrategy(CPUS[:4])), run(ShardedStrategy(CPUS[:4]))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    frozen = model.get_layer("second")._kernel
    assert frozen.value.sharding.shard_shape((64, 128)) == (64, 32)


@pytest.mark.exact
def test_steps_with_a_tape_in_a_loop_give_what_whole_replicas_give():
    def run(strategy):
        with strategy.scope():
            model = make_model()
            optimizer = keras.optimizers.Adam(0.01, global_clipnorm=0.1)
            optimizer.build(model.trainable_variables)
        loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

        def replica(x, y):
            with sx.GradientTape() as tape:
                losses = loss_of(y, model(x, training=True))
                loss = sx.distribute.compute_average_loss(losses, global_batch_size=8)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        @sx.function
        def steps(batches):
            total = 0.0
            for _ in sx.range(5):
                total += strategy.reduce("sum", strategy.run(replica, next(batches)), axis=None)
            return total

        dataset = sx.Dataset.from_tensor_slices((X[:40], Y[:40])).batch(8)
        total = steps(iter(strategy.experimental_distribute_dataset(dataset)))
        return [float(total), *(variable.numpy() for variable in model.variables)]

    expected = run(MirroredStrategy(CPUS[:4]))
    for found, theirs in zip(run(ShardedStrategy(CPUS[:4], replicas=2)), expected, strict=True):
        np.testing.assert_allclose(found, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("steps", [1, 2])
def test_labels_out_of_range_are_refused_before_a_step(steps):
    model = compiled(ShardedStrategy(CPUS[:4]), steps_per_execution=steps)
    before = [variable.numpy() for variable in model.variables]
    with pytest.raises(
        errors.BadArgumentError, match=r"label value of 7 which is outside the valid range of \[0, 5\)"
    ):
        model.fit(X[:16], np.full(16, 7), batch_size=8, verbose=0)
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


@pytest.mark.parametrize(
    "other",
    [
        None,
        lambda: MirroredStrategy(CPUS[:4]),
        lambda: MirroredStrategy(CPUS[5:7]),
        lambda: ShardedStrategy(CPUS[4:7]),
    ],
    ids=["no strategy", "copies on the same devices", "copies on others", "parts on others"],
)
def test_variables_that_were_made_elsewhere_are_divided_by_the_step_that_uses_them(other):
    strategy = ShardedStrategy(CPUS[:4], layout={"first/kernel$": ("shard",)})
    losses = []
    for scope in (strategy.scope(), contextlib.nullcontext() if other is None else other().scope()):
        with scope:
            model = keras.Sequential(
                [keras.layers.Input((128,)), keras.layers.Dense(128, "tanh", name="first")]
            )
            model.layers[0].kernel.assign(X[:1].T * X[1:2] / 16)
            optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
            unused = sx.Variable(np.ones((128, 128), "float32"))

        @sx.function
        def step(x, model=model, optimizer=optimizer, unused=unused):
            def replica(x):
                with sx.GradientTape() as tape:
                    rows = keras.ops.mean((model(x) - x) ** 2, -1)
                    loss = sx.distribute.compute_average_loss(rows)
                optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
                return loss

            return strategy.reduce("sum", strategy.run(replica, args=(x,)), axis=None) + 0 * unused[0, 0]

        batches = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X[:40]).batch(8))
        losses.append([float(step(x)) for x in batches])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert model.layers[0].kernel.value.sharding.shard_shape((128, 128)) == (32, 128)
    for variable in (*optimizer.variables, unused):
        assert variable.ndim < 2 or not variable.value.sharding.is_fully_replicated
        assert variable.value.sharding.device_set == set(strategy.extended.execution.devices)


def test_a_process_that_is_alone_stays_without_a_cluster():
    before = cluster.current()
    ShardedStrategy(CPUS[:2])
    assert cluster.current() is before


def test_a_variable_may_be_made_in_a_trace_of_jax():
    compiled(ShardedStrategy(CPUS[:2]))

    def traced(x):
        return x + keras.Variable(2.0).value

    assert jax.eval_shape(traced, jax.numpy.ones(3)).shape == (3,)
