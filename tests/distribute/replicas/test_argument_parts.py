"""Arrays in parts that a replica's function is given: it sees them whole, and each operation gathers for itself."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import ShardedStrategy

CPUS = [f"/cpu:{index}" for index in range(8)]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 64)).astype("float32")
PARAMETERS = {
    "first": RNG.normal(size=(64, 128)).astype("float32") / 8,
    "stack": RNG.normal(size=(3, 128, 128)).astype("float32") / 12,
}


def by_layers(parameters, x):
    h = jnp.tanh(x @ parameters["first"])
    for index in range(3):
        h = jnp.tanh(h @ parameters["stack"][index])
    return h


def by_remat(parameters, x):
    h = jnp.tanh(x @ parameters["first"])
    for index in range(3):
        h = jax.checkpoint(lambda weight, h: jnp.tanh(h @ weight))(parameters["stack"][index], h)
    return h


def by_scan(parameters, x):
    h = jnp.tanh(x @ parameters["first"])
    return jax.lax.scan(lambda h, weight: (jnp.tanh(h @ weight), None), h, parameters["stack"])[0]


def by_rematerialized_scan(parameters, x):
    h = jnp.tanh(x @ parameters["first"])
    step = jax.checkpoint(lambda h, weight: (jnp.tanh(h @ weight), None))
    return jax.lax.scan(step, h, parameters["stack"])[0]


def in_half_precision(parameters, x):
    h = jnp.tanh(x @ parameters["first"].astype(jnp.bfloat16).astype(jnp.float32))
    return h @ jnp.reshape(parameters["stack"], (3, -1)).T.reshape(128, -1)


def in_a_loop_and_a_branch(parameters, x):
    first = jax.lax.cond(x[0, 0] > 5, lambda: parameters["first"], lambda: 2 * parameters["first"])
    return jax.lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ parameters["stack"][i]), x @ first)


def in_a_jitted_function(parameters, x):
    return jax.jit(by_layers)(parameters, x) + jax.nn.relu(parameters["first"]).mean()


def step_of(strategy, model):
    @sx.function
    def step(parameters, x):
        def gradients_of(parameters, x):
            return jax.value_and_grad(lambda parameters: jnp.sum(model(parameters, x) ** 2))(parameters)

        return strategy.reduce("sum", strategy.run(gradients_of, args=(parameters, x)), axis=None)

    return step


def batch_of(strategy):
    (batch,) = strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(X).batch(8))
    return batch


@pytest.mark.parametrize(
    ("model", "count", "options", "tolerance"),
    [
        (by_layers, 4, {}, 1e-4),
        (by_layers, 8, {"model": 2, "layout": {"first": ("model", "shard")}}, 1e-4),
        (by_remat, 4, {}, 1e-4),
        (by_scan, 8, {"model": 2, "layout": {"first": ("model", "shard")}}, 1e-4),
        (by_rematerialized_scan, 4, {}, 1e-4),
        # Each replica rounds its own gradient.
        (in_half_precision, 4, {}, 0.03),
        (in_a_loop_and_a_branch, 4, {}, 1e-4),
        (in_a_jitted_function, 4, {}, 1e-4),
    ],
)
def test_gradients_are_those_of_one_device(model, count, options, tolerance):
    strategy = ShardedStrategy(CPUS[:count], **options)
    loss, gradients = step_of(strategy, model)(strategy.shard(PARAMETERS), batch_of(strategy))
    expected = jax.value_and_grad(lambda parameters: jnp.sum(model(parameters, X) ** 2))
    their_loss, theirs = expected(PARAMETERS)
    np.testing.assert_allclose(loss, their_loss, rtol=1e-5)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, theirs[name], rtol=tolerance, atol=tolerance)
        assert not gradient.sharding.is_fully_replicated


def lines_of(model):
    strategy = ShardedStrategy(CPUS[:4], layout={"stack": (None, "shard")})
    return str(step_of(strategy, model).jaxpr(strategy.shard(PARAMETERS), batch_of(strategy)))


def test_each_layer_gathers_its_weight_again_on_the_way_back_and_hands_its_gradient_over_in_parts():
    text = lines_of(by_layers)
    # The first weight has no use on the way back, since the batch has no gradient.
    assert text.count("all_gather[") == 1 + 2 * 3
    assert text.count("reduce_scatter[") == 2
    assert not re.search(r"f32\[3,128,128\] = all_gather", text)


@pytest.mark.parametrize("model", [by_scan, by_rematerialized_scan])
def test_an_iteration_gathers_the_weight_of_its_layer_alone(model):
    gathered = re.findall(r"f32\[([\d,]+)\] = all_gather", lines_of(model))
    assert sorted(gathered) == ["128,128", "128,128", "64,128"]


def test_what_is_computed_again_gathers_once_for_all_of_it():
    assert lines_of(by_remat).count("all_gather[") == 1 + 2 * 3


def test_weights_are_converted_before_they_are_gathered():
    text = lines_of(lambda parameters, x: x.astype("bfloat16") @ parameters["first"].astype("bfloat16"))
    assert re.findall(r"(\w+)\[64,128\] = all_gather", text) == ["bf16"]
