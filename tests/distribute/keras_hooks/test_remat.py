"""Layers that compute anew what their gradients need: the numbers are those of layers that keep it."""

import concurrent.futures
import contextlib
import functools

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.core import storage
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, ShardedStrategy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(22, 64)).astype("float32")
Y = RNG.integers(0, 5, 22)
CPUS = ["/cpu:0", "/cpu:1"]


class Penalty(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(0.1 * keras.ops.mean(inputs**2))
        return inputs


def make_layers():
    inner = keras.Sequential([keras.layers.Dense(128, "relu"), keras.layers.Dropout(0.3)], name="inner")
    return [
        inner,
        keras.layers.BatchNormalization(),
        Penalty(),
        keras.layers.Dense(5, kernel_regularizer="l2"),
    ]


def trained(strategy, around=contextlib.nullcontext, change=lambda model: None):
    keras.utils.set_random_seed(5)
    with strategy.scope(), around():
        model = keras.Sequential([keras.layers.Input((64,)), *make_layers()])
        change(model)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss)
    history = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    return [history.history["loss"], *(variable.numpy() for variable in model.variables)]


def in_full_scope():
    return keras.RematScope(mode="full")


def remat_each(model):
    for layer in model.layers:
        assert sx.remat(layer) is layer


@pytest.mark.exact
@pytest.mark.parametrize(
    ("make", "around", "change"),
    [
        (lambda: OneDeviceStrategy("/cpu:0"), in_full_scope, lambda model: None),
        (lambda: MirroredStrategy(CPUS), contextlib.nullcontext, remat_each),
        # A model in a model, and layers in both, each computed anew.
        (lambda: ShardedStrategy(CPUS), in_full_scope, lambda model: None),
        (lambda: ShardedStrategy(CPUS, remat="layer"), contextlib.nullcontext, lambda model: None),
    ],
)
def test_fit_gives_what_it_gives_without(make, around, change):
    strategy = make()
    plain = MirroredStrategy(CPUS) if strategy.num_replicas_in_sync == 2 else strategy
    for found, expected in zip(trained(strategy, around, change), trained(plain), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def steps(strategy, with_tape, wrap):
    keras.utils.set_random_seed(5)
    with strategy.scope():
        layers = [keras.layers.Dense(128, "relu"), keras.layers.Dropout(0.3), keras.layers.Dense(5)]
        model = keras.Sequential([keras.layers.Input((64,)), *layers])
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)
        calls = sx.Variable(0, trainable=False, aggregation="only_first_replica")

    def forward(x):
        calls.assign_add(1)
        return layers[1](layers[0](x), training=True)

    forward = wrap(forward)

    def loss_of(x, y):
        losses = keras.losses.sparse_categorical_crossentropy(y, layers[2](forward(x)), from_logits=True)
        return sx.distribute.compute_average_loss(losses, global_batch_size=8)

    def replica(x, y):
        if with_tape:
            with sx.GradientTape() as tape:
                loss = loss_of(x, y)
            gradients = tape.gradient(loss, model.trainable_variables)
        else:
            loss, gradients = sx.value_and_grad(lambda: loss_of(x, y), model.trainable_variables)()
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    step = sx.function(lambda batch: strategy.reduce("sum", strategy.run(replica, args=batch), axis=None))
    dataset = sx.Dataset.from_tensor_slices((X[:16], Y[:16])).batch(8)
    losses = [float(step(batch)) for batch in strategy.experimental_distribute_dataset(dataset)]
    return [losses, int(calls.numpy()), *(variable.numpy() for variable in model.variables)]


@pytest.mark.exact
@pytest.mark.parametrize("with_tape", [False, True])
@pytest.mark.parametrize("make", [lambda: OneDeviceStrategy("/cpu:0"), lambda: ShardedStrategy(CPUS)])
def test_functions_of_loops_draw_and_assign_once(make, with_tape):
    asked = []

    def policy(primitive, *_, **__):
        asked.append(primitive.name)
        return False

    plain = steps(make(), with_tape, lambda function: function)
    found = steps(make(), with_tape, lambda function: sx.remat(sx.remat(function), policy))
    assert "dot_general" in asked
    for mine, theirs in zip(found, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_a_function_may_return_what_is_no_array_and_be_run_eagerly():
    v = sx.Variable(3.0)

    @sx.remat
    def function(x, *, name):
        return {"out": x * v, "name": name, "none": None}

    with sx.GradientTape() as tape:
        result = function(2.0, name="a")
    assert (float(result["out"]), result["name"], result["none"]) == (6.0, "a", None)
    assert float(tape.gradient(result["out"], v)) == 2.0


def test_a_function_of_layers_chooses_the_outermost():
    asked = []
    strategy = ShardedStrategy(CPUS, remat=lambda layer: asked.append(layer.name) or layer.name == "inner")
    trained(strategy)
    # Behind "inner" none of the layers in it.
    assert "inner" in asked
    assert not [name for name in asked if name.startswith("dropout")]
    assert [name for name in asked if name.startswith("batch_normalization")]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sx.remat(3), errors.BadTypeError, "takes a function or a Keras layer. Received: 3"),
        (lambda: ShardedStrategy(CPUS, remat="all"), errors.BadArgumentError, "Received: remat='all'"),
        (lambda: ShardedStrategy(CPUS, remat=True), errors.BadTypeError, "Received: remat=True"),
    ],
)
def test_what_is_neither_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_less_is_kept_for_the_way_back():
    """Of two layers in one function only the argument, and of what is computed nothing."""
    v, w = sx.Variable(np.eye(4, dtype="float32")), sx.Variable(np.eye(4, dtype="float32"))

    def kept(function):
        _, pull = jax.vjp(lambda x: sx.function(function)(x), np.ones((4, 4), "float32"))
        return len(jax.tree.leaves(pull))

    def function(x):
        return jax.numpy.tanh(jax.numpy.tanh(x @ v.value) @ w.value)

    assert kept(sx.remat(function)) < kept(function)


def test_shapes_are_told_without_values():
    class Block(keras.layers.Layer):
        def build(self, shape):
            self.kernel = self.add_weight(shape=(128, 128))

        def call(self, inputs):
            return inputs @ self.kernel

    with storage.making_abstract(), in_full_scope():
        model = keras.Sequential([keras.layers.Input((128,)), Block()])
    assert model.output_shape == (None, 128)


class OnHost(keras.layers.Layer):
    """Prepares batches in front of a model, as layers of text do."""

    def call(self, inputs):
        return np.array([sum(row) for row in np.asarray(inputs).tolist()])


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(
    "make", [lambda: ShardedStrategy(CPUS, remat="layer"), lambda: MirroredStrategy(CPUS)]
)
def test_a_layer_that_prepares_batches_on_the_host_gets_their_values(make, in_thread):
    """In a scope, in threads that read ahead, and if it was given to `remat`: nobody takes a gradient there."""
    strategy = make()
    with strategy.scope():
        layer = OnHost() if getattr(strategy, "remat", None) else sx.remat(OnHost())
        call = functools.partial(layer, np.arange(6).reshape(2, 3))
        found = concurrent.futures.ThreadPoolExecutor().submit(call).result() if in_thread else call()
    np.testing.assert_array_equal(found, [3, 12])


def test_a_gradient_outside_of_compiled_functions_computes_anew():
    """The function runs once more on the way back, also where its operations give values at once."""
    numbers = []

    def square(x):
        numbers.append(x)
        return jax.numpy.sin(x * x)

    x = jax.numpy.float32(3)
    with sx.GradientTape() as tape:
        tape.watch(x)
        y = sx.remat(square)(x)
    kept = str(jax.make_jaxpr(lambda x: jax.vjp(sx.remat(square), x)[1](x))(x))
    assert "remat" in kept or "checkpoint" in kept
    np.testing.assert_allclose(tape.gradient(y, x), 6 * np.cos(9), rtol=1e-6)
    assert all(isinstance(each, jax.core.Tracer) for each in numbers)
    assert not isinstance(sx.remat(square)(x), jax.core.Tracer)
    assert not isinstance(numbers[-1], jax.core.Tracer)
