"""Layers that are computed in a loop: numbers, names and files are those of layers that are called one by one."""

import re

import jax
import keras
import numpy as np
import pytest

import stratax as sx
from stratax import errors
from stratax.distribute import MirroredStrategy, OneDeviceStrategy, ShardedStrategy
from tests.cluster.processes import run_tasks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 64)).astype("float32")
Y = RNG.integers(0, 5, 20)
CPUS = ["/cpu:0", "/cpu:1"]


@keras.saving.register_keras_serializable()
class Block(keras.layers.Layer):
    """What a block may have: weights, a drawn mask, statistics, a loss of its own, a regularizer."""

    def __init__(self, width=128, rate=0.2, **kwargs):
        super().__init__(**kwargs)
        self.width, self.rate = width, rate
        self.norm = keras.layers.BatchNormalization(name="norm")
        self.up = keras.layers.Dense(width, "relu", kernel_regularizer="l2", name="up")
        self.dropout = keras.layers.Dropout(rate, name="dropout")
        self.down = keras.layers.Dense(64, name="down")

    def build(self, shape):
        self.norm.build(shape)
        self.up.build(shape)
        self.down.build((*shape[:-1], self.width))

    def call(self, inputs, scale=None):
        hidden = self.down(self.dropout(self.up(self.norm(inputs))))
        self.add_loss(0.01 * keras.ops.mean(hidden**2))
        return inputs + (hidden if scale is None else hidden * scale)


class Tower(keras.Model):
    """A model with a `call` of its own, whose layers are made when it is first called."""

    def __init__(self, in_loop):
        super().__init__()
        self.blocks = [Block(name=f"block_{i}") for i in range(3)]
        self.out = keras.layers.Dense(5, name="out")
        self.compute = sx.repeat(self.blocks) if in_loop else self.one_by_one

    def one_by_one(self, x, scale):
        for block in self.blocks:
            x = block(x, scale=scale)
        return x

    def call(self, x):
        return self.out(self.compute(x, scale=keras.ops.ones((64,)) * 0.5))


def make_graph(in_loop):
    inputs = keras.layers.Input((64,))
    x = keras.layers.Dense(64, "tanh", name="in")(inputs)
    for i in range(3):
        x = Block(name=f"block_{i}")(x)
    model = keras.Model(inputs, keras.layers.Dense(5, name="out")(x))
    return sx.repeat(model) if in_loop else model


def train(strategy, make, in_loop, policy="float32"):
    keras.utils.set_random_seed(5)
    keras.config.set_dtype_policy(policy)
    try:
        with strategy.scope():
            model = make(in_loop)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            model.compile(keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=1.0), loss)
        history = model.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)
    finally:
        keras.config.set_dtype_policy("float32")
    values = [history.history["loss"], model.predict(X, verbose=0), *(v.numpy() for v in model.variables)]
    # Keras numbers seed generators.
    return values, [re.sub(r"seed_generator_?\d*", "seed", variable.path) for variable in model.variables]


STRATEGIES = [
    pytest.param(lambda: OneDeviceStrategy("/cpu:0"), id="one"),
    pytest.param(lambda: MirroredStrategy(CPUS), id="mirrored"),
    pytest.param(lambda: ShardedStrategy(CPUS), id="sharded"),
    pytest.param(lambda: ShardedStrategy(CPUS, remat="layer"), id="remat"),
]


@pytest.mark.exact
@pytest.mark.parametrize("make", STRATEGIES)
def test_fit_gives_the_numbers_and_names_of_layers_that_are_called_one_by_one(make):
    (found, names), (expected, expected_names) = (train(make(), make_graph, each) for each in (True, False))
    assert names == expected_names
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=2e-6)


# In a process of its own: XLA is told once to round where the program says so, and not where it fuses.
MIXED = """
from tests.distribute.keras_hooks import test_repeat as this
for name in ("one", "sharded", "remat"):
    make, = (each.values[0] for each in this.STRATEGIES if each.id == name)
    found, expected = (this.train(make(), this.make_graph, each, "mixed_bfloat16")[0] for each in (True, False))
    report(**{name: [float(this.np.abs(this.np.subtract(*pair)).max()) for pair in zip(found, expected, strict=True)]})
"""


@pytest.mark.programs
def test_in_mixed_precision_the_numbers_are_the_same():
    rounding = {"XLA_FLAGS": "--xla_allow_excess_precision=false"}
    (result,) = run_tasks(1, MIXED, devices=2, variables=rounding)
    assert result.code == 0, result.err
    for name, differences in result.report.items():
        assert len(differences) > 30
        # Half precision rounds a hundred thousand times as much.
        assert max(differences) < 1e-7, name


@pytest.mark.exact
@pytest.mark.parametrize("make", STRATEGIES[::2])
def test_a_call_of_ones_own_may_build_the_layers_and_hand_them_further_arguments(make):
    (found, names), (expected, expected_names) = (train(make(), Tower, each) for each in (True, False))
    assert [name.split("/", 1)[1] for name in names] == [name.split("/", 1)[1] for name in expected_names]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=2e-6)


def dense_layers(count, *, width=64, activations=("tanh",)):
    layers = [
        keras.layers.Dense(width, activations[i % len(activations)], name=f"dense_{i}") for i in range(count)
    ]
    for layer in layers:
        layer.build((None, 64))
    return layers


def compute(layers, x=X):
    with OneDeviceStrategy("/cpu:0").scope():
        return sx.function(lambda given: sx.repeat(layers)(given))(x)


def test_the_program_does_not_grow_with_the_number_of_layers():
    def products(count):
        program = jax.make_jaxpr(lambda x: sx.function(sx.repeat(dense_layers(count)))(x))(X)
        return str(program).count("dot_general")

    assert products(5) == products(2) == 1


def test_called_eagerly_it_calls_one_after_the_other():
    layers = dense_layers(3)
    np.testing.assert_allclose(sx.repeat(layers)(X), compute(layers), rtol=1e-6, atol=1e-6)


def test_a_tape_gives_the_gradients_of_every_layer():
    layers = dense_layers(3)
    variables = [variable for layer in layers for variable in layer.trainable_variables]

    def gradients(call):
        with sx.GradientTape() as tape:
            loss = keras.ops.mean(call(X) ** 2)
        return tape.gradient(loss, variables)

    found, expected = (sx.function(gradients)(each) for each in (sx.repeat(layers), keras.Sequential(layers)))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)


class Scaled(keras.layers.Layer):
    """Takes the mask that the layer before it hands on."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="random_normal")

    def call(self, inputs, mask=None):
        return inputs * self.scale * keras.ops.cast(mask, inputs.dtype)[..., None]


def test_masks_are_handed_on():
    def model(in_loop):
        keras.utils.set_random_seed(1)
        inputs = keras.layers.Input((6,), dtype="int32")
        x = keras.layers.Embedding(9, 4, mask_zero=True)(inputs)
        for i in range(3):
            x = Scaled(name=f"scaled_{i}")(x)
        outputs = keras.layers.GlobalAveragePooling1D()(x)
        made = keras.Model(inputs, outputs)
        return sx.repeat(made) if in_loop else made

    ids = RNG.integers(0, 3, (4, 6))
    with OneDeviceStrategy("/cpu:0").scope():
        found, expected = (sx.function(model(each))(ids) for each in (True, False))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_files_are_those_of_the_model(tmp_path):
    model = make_graph(in_loop=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [layer.name for layer in loaded.layers] == [layer.name for layer in model.layers]
    np.testing.assert_allclose(
        sx.repeat(loaded).predict(X, verbose=0), model.predict(X, verbose=0), rtol=1e-6
    )


def test_of_models_in_one_another_the_layers_that_are_alike_are_found():
    def compiled(model):
        return str(jax.make_jaxpr(lambda x: sx.function(model)(x))(X)).count("dot_general")

    inner = keras.Sequential([keras.layers.Input((64,)), *dense_layers(4)])
    others = dense_layers(4, activations=("tanh", "relu"))
    model = sx.repeat(keras.Sequential([keras.layers.Input((64,)), inner, *others]))
    assert compiled(model) == 1 + len(others)


class Counting(keras.layers.Layer):
    def __init__(self, count, **kwargs):
        super().__init__(**kwargs)
        self.count = count
        self.built = True

    def call(self, inputs):
        self.count.assign_add(1.0)
        return inputs


def counting_layers():
    count = sx.Variable(0.0, trainable=False)
    layers = [Counting(count, name=f"counting_{i}") for i in range(2)]
    return layers


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sx.repeat([3]), errors.BadTypeError, r"list of Keras layers, or a model. Received: \[3\]"),
        (lambda: sx.repeat([]), errors.BadTypeError, "list of Keras layers"),
        (
            lambda: sx.repeat(keras.Sequential([keras.layers.Input((64,)), *dense_layers(1)])),
            errors.BadArgumentError,
            "No layers of the model follow one another",
        ),
        (
            lambda: compute([*dense_layers(2), *dense_layers(1, width=32)]),
            errors.BadArgumentError,
            r"unlike one another.*Received: 'dense_0', a Dense: .*32",
        ),
        (
            lambda: compute(dense_layers(2, activations=("tanh", "relu"))),
            errors.BadArgumentError,
            "'dense_1' computes .* where 'dense_0' computes .*tanh",
        ),
        (
            lambda: compute(dense_layers(2, width=32)),
            errors.BadArgumentError,
            r"a result like the argument, \[\(20, 64\)\]. Received: \[\(20, 32\)\] of 'dense_0'",
        ),
        (lambda: compute(counting_layers()), errors.TracingError, "a variable that is not its own"),
    ],
)
def test_what_can_not_be_repeated_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
