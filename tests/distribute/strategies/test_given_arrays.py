"""Arrays in parts as arguments of `run`: losses, places of what comes out, arrays that were made elsewhere."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import stratax as sx
from stratax.distribute import OneDeviceStrategy, ShardedStrategy

CPUS = [f"/cpu:{index}" for index in range(8)]
RNG = np.random.default_rng(0)
# The last batch does not divide.
X = RNG.normal(size=(44, 64)).astype("float32")
Y = np.tanh(X[:, ::-1].copy())
OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9))
RULES = {"up": (None, "model"), "down": ("model",), "middle": ("shard", "model")}


def make_parameters(key):
    up, middle, down = jax.random.split(key, 3)
    return {
        "up": jax.random.normal(up, (64, 256)) / 8,
        "bias": jnp.zeros(256),
        "middle": jax.random.normal(middle, (256, 256)) / 16,
        "down": jax.random.normal(down, (256, 64)) / 16,
    }


def losses_of(parameters, x, y):
    h = jnp.tanh(x @ parameters["up"] + parameters["bias"])
    return jnp.mean((jnp.tanh(h @ parameters["middle"]) @ parameters["down"] - y) ** 2, axis=1)


def step_of(strategy):
    @sx.function
    def step(parameters, state, batch):
        def gradients_of(parameters, batch):
            def loss_of(parameters):
                return sx.distribute.compute_average_loss(losses_of(parameters, *batch))

            return jax.value_and_grad(loss_of)(parameters)

        replicas = strategy.run(gradients_of, args=(parameters, batch))
        loss, gradients = strategy.reduce("sum", replicas, axis=None)
        updates, state = OPTIMIZER.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    return step


def trained(strategy, make):
    parameters = make(make_parameters, jax.random.key(0))
    state = make(OPTIMIZER.init, parameters)
    step, losses = step_of(strategy), []
    dataset = sx.Dataset.from_tensor_slices((X, Y)).batch(16)
    for _ in range(2):
        for batch in strategy.experimental_distribute_dataset(dataset):
            parameters, state, loss = step(parameters, state, batch)
            losses.append(float(loss))
    return losses, parameters, state


@pytest.fixture(scope="module")
def expected():
    return trained(OneDeviceStrategy("/cpu:0"), lambda function, *args: function(*args))


@pytest.mark.parametrize(
    ("count", "options"), [(4, {}), (8, {"replicas": 2}), (8, {"model": 2, "layout": RULES})]
)
def test_a_loop_of_jax_and_optax_gives_the_losses_of_one_device_and_stays_in_parts(count, options, expected):
    strategy = ShardedStrategy(CPUS[:count], **options)
    losses, parameters, state = trained(strategy, strategy.shard)
    np.testing.assert_allclose(losses, expected[0], rtol=1e-5)
    places = strategy.shard(make_parameters, jax.random.key(0))
    momentum = state[1][0].trace
    for name, place in places.items():
        np.testing.assert_allclose(parameters[name], expected[1][name], atol=1e-5)
        assert parameters[name].sharding == momentum[name].sharding == place.sharding


def on_another_mesh(tree):
    mesh = jax.make_mesh((2,), ("x",), devices=jax.devices()[4:6])
    return jax.device_put(tree, NamedSharding(mesh, PartitionSpec("x")))


@pytest.mark.parametrize(
    "move",
    [
        lambda tree: tree,
        lambda tree: jax.tree.map(np.asarray, tree),
        lambda tree: jax.device_put(tree, jax.devices()[3]),
        on_another_mesh,
    ],
    ids=["default device", "host", "device outside", "another mesh"],
)
def test_arrays_that_were_made_elsewhere_are_divided_on_their_way_in(move, expected):
    strategy = ShardedStrategy(CPUS[:2])
    losses, parameters, state = trained(strategy, lambda function, *args: move(function(*args)))
    np.testing.assert_allclose(losses, expected[0], rtol=1e-5)
    for array in (parameters["middle"], state[1][0].trace["middle"]):
        assert array.sharding.shard_shape((256, 256)) == (128, 256)


def test_a_sum_lies_as_the_array_that_it_is_for_and_others_as_before():
    strategy = ShardedStrategy(CPUS[:4], layout={"w": (None, "shard")})
    array = strategy.shard({"w": jnp.ones((128, 128))})

    @sx.function
    def combine(op, array):
        replicas = strategy.run(lambda tree: {"g": {"w": tree["w"] * 2}, "v": tree["w"][0]}, args=(array,))
        return strategy.reduce(op, replicas, axis=None)

    for op, value in (("sum", 8), ("mean", 2)):
        found = combine(op, array)
        assert found["g"]["w"].sharding.spec == PartitionSpec(None, "shard")
        np.testing.assert_array_equal(found["g"]["w"], np.full((128, 128), value))
        np.testing.assert_array_equal(found["v"], np.full(128, value / 2))


def test_run_takes_arrays_outside_of_compiled_functions_and_as_keyword_arguments():
    strategy = ShardedStrategy(CPUS[:4])
    array = strategy.shard({"w": jnp.arange(16384.0).reshape(128, 128)})
    found = strategy.run(lambda tree, scale: tree["w"].sum() * scale, args=(array,), kwargs={"scale": 2.0})
    assert [float(each) for each in found.values] == [float(2 * array["w"].sum())] * 4


def test_a_loop_inside_the_function_carries_arrays_in_parts():
    strategy = ShardedStrategy(CPUS[:4])
    parameters = strategy.shard(make_parameters, jax.random.key(0))

    @sx.function
    def steps(parameters, x):
        for _ in sx.range(3):
            sums = strategy.run(
                lambda tree: jax.tree.map(lambda array: 0.1 * array / 4, tree), args=(parameters,)
            )
            parameters = jax.tree.map(jnp.subtract, parameters, strategy.reduce("sum", sums, axis=None))
        return parameters

    found = steps(parameters, X)
    for name, array in found.items():
        np.testing.assert_allclose(array, 0.9**3 * np.asarray(parameters[name]), rtol=1e-5)
        assert array.sharding == parameters[name].sharding


def test_jit_of_jax_around_run_may_donate_what_is_trained(expected):
    strategy = ShardedStrategy(CPUS[:4])
    parameters = strategy.shard(make_parameters, jax.random.key(0))
    state = strategy.shard(OPTIMIZER.init, parameters)
    step = jax.jit(step_of(strategy), donate_argnums=(0, 1))
    (batch, *_) = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices((X, Y)).batch(16))
    before = parameters
    parameters, state, loss = step(parameters, state, batch)
    np.testing.assert_allclose(loss, expected[0][0], rtol=1e-5)
    assert before["middle"].is_deleted()
    assert not parameters["middle"].sharding.is_fully_replicated


@pytest.mark.parametrize(
    "move",
    [
        lambda tree: ShardedStrategy(CPUS[:2]).shard(tree),
        lambda tree: tree,
        lambda tree: jax.tree.map(np.asarray, tree),
        lambda tree: jax.device_put(tree, jax.devices()[3]),
    ],
    ids=["in parts", "default device", "host", "device outside"],
)
@pytest.mark.parametrize("is_argument", [True, False])
def test_what_a_function_has_from_around_it_is_gathered_where_it_is_read(move, is_argument):
    strategy = ShardedStrategy(CPUS[:2])
    around = move({"w": jax.random.normal(jax.random.key(0), (128, 128)) / 12})
    x = np.ones((4, 128), "float32") * np.arange(4)[:, None] / 4
    (batch,) = strategy.experimental_distribute_dataset(
        sx.Dataset.from_tensor_slices(x.astype("float32")).batch(4)
    )

    def loss_of(tree, x):
        return jnp.sum(jnp.tanh(jnp.tanh(x @ tree["w"]) @ tree["w"]))

    @sx.function
    def compute(batch, given):
        tree = given if is_argument else around
        replicas = strategy.run(lambda x: jax.value_and_grad(loss_of)(tree, x), args=(batch,))
        return strategy.reduce("sum", replicas, axis=None)

    given = around if is_argument else None
    loss, gradients = compute(batch, given)
    expected, theirs = jax.value_and_grad(loss_of)(jax.tree.map(np.asarray, around), x)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(gradients["w"], theirs["w"], atol=1e-5)
    assert gradients["w"].sharding.shard_shape((128, 128)) == (64, 128)
    assert str(compute.jaxpr(batch, given)).count("all_gather[") == 3
