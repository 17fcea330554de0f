"""`ShardedStrategy.shard`: arrays of other libraries, placed by their key paths as variables are by theirs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax.sharding import PartitionSpec

import stratax as sx
from stratax import errors
from stratax.distribute import MirroredStrategy, ShardedStrategy

CPUS = [f"/cpu:{index}" for index in range(8)]
RULES = {r"up/kernel$": (None, "model"), r"down/kernel$": ("model", "shard")}


def make_parameters(key):
    up, down = jax.random.split(key)
    return {
        "up": {"kernel": jax.random.normal(up, (64, 256)), "bias": jnp.zeros(256)},
        "down": {"kernel": jax.random.normal(down, (256, 64))},
    }


class Network(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(64, 256, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)


def specs_of(tree):
    leaves = jax.tree.leaves(tree)
    return [leaf.sharding.spec for leaf in leaves if isinstance(leaf, jax.Array)]


def test_rules_are_searched_in_key_paths_and_all_else_is_divided_by_size():
    by_size = ShardedStrategy(CPUS[:4]).shard(make_parameters(jax.random.key(0)))
    assert specs_of(by_size) == [PartitionSpec("shard"), PartitionSpec(), PartitionSpec(None, "shard")]
    strategy = ShardedStrategy(CPUS, model=2, layout=RULES)
    ruled = strategy.shard(make_parameters(jax.random.key(0)))
    assert specs_of(ruled) == [
        PartitionSpec("model", "shard"),
        PartitionSpec(),
        PartitionSpec(None, "model"),
    ]
    for found, expected in zip(
        jax.tree.leaves(ruled), jax.tree.leaves(make_parameters(jax.random.key(0))), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_modules_of_flax_and_equinox_keep_what_is_no_array():
    strategy = ShardedStrategy(
        CPUS[:4], layout={r"^up/kernel$": ("shard",), r"layers/1/weight$": (None, "shard")}
    )
    network = strategy.shard(Network(nnx.Rngs(0)))
    assert network.up.kernel.get_value().sharding.spec == PartitionSpec("shard")
    assert (
        network(np.ones((2, 64), "float32")) is not None if callable(network) else network.dropout.rate == 0.1
    )
    mlp = strategy.shard(eqx.nn.MLP(64, 4, 128, 2, key=jax.random.key(0)))
    assert mlp.layers[1].weight.sharding.spec == PartitionSpec(None, "shard")
    assert mlp(jnp.ones(64)).shape == (4,)


def test_a_function_makes_its_arrays_in_parts_with_the_numbers_of_one_device():
    strategy = ShardedStrategy(CPUS[:4])
    made = strategy.shard(make_parameters, jax.random.key(3))
    expected = jax.jit(make_parameters)(jax.random.key(3))
    assert specs_of(made) == specs_of(strategy.shard(expected))
    for found, theirs in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(found, theirs)
    mlp = strategy.shard(lambda key: eqx.nn.MLP(64, 4, 128, 2, key=key), jax.random.key(0))
    assert mlp.layers[1].weight.sharding.spec == PartitionSpec("shard")
    assert callable(mlp.activation)
    network = strategy.shard(lambda: Network(nnx.Rngs(0)))
    assert network.up.kernel.get_value().sharding.spec == PartitionSpec(None, "shard")


def test_slots_lie_where_their_parameters_do_whatever_rules_say_of_their_names():
    strategy = ShardedStrategy(CPUS, model=2, layout={f"^{pattern}": axes for pattern, axes in RULES.items()})
    parameters = strategy.shard(make_parameters, jax.random.key(0))
    state = strategy.shard(optax.adam(0.1).init, parameters)
    assert specs_of(state[0].mu) == specs_of(state[0].nu) == specs_of(parameters)
    # Those of fewer dimensions are not meant by the rules of their parameters.
    factored = strategy.shard(optax.adafactor(0.1, min_dim_size_to_factor=32).init, parameters)
    assert all(isinstance(spec, PartitionSpec) for spec in specs_of(factored))


def test_in_a_compiled_function_it_says_where_values_lie():
    strategy = ShardedStrategy(CPUS[:4])

    @sx.function
    def double(parameters):
        return strategy.shard(jax.tree.map(lambda array: 2 * array, parameters))

    parameters = strategy.shard(make_parameters, jax.random.key(0))
    assert specs_of(double(parameters)) == specs_of(parameters)
    with pytest.raises(errors.StrategyError, match="called in a replica"):
        strategy.run(lambda: strategy.shard({"w": jnp.ones((128, 128))}))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (3, "no array to divide"),
        ({}, "no array to divide"),
        ({"a": "text"}, "no array to divide"),
        (lambda: None, "no array to divide"),
        (np.array(["text"]), "Text does not go to a device"),
    ],
)
def test_what_is_no_tree_of_arrays_is_refused(tree, message):
    with pytest.raises(errors.BadTypeError, match=message):
        ShardedStrategy(CPUS[:2]).shard(tree)


def test_variables_values_of_replicas_and_superfluous_arguments_are_refused():
    strategy = ShardedStrategy(CPUS[:2])
    with pytest.raises(errors.BadTypeError, match="a variable gets its place when it is made"):
        strategy.shard([sx.Variable(1.0)])
    with pytest.raises(errors.BadTypeError, match="Arrays of a tree are divided"):
        strategy.shard(strategy.run(lambda: 1.0))
    with pytest.raises(errors.BadTypeError, match="or a function and what it is called with"):
        strategy.shard({"w": jnp.ones(3)}, 4)
    assert not hasattr(MirroredStrategy, "shard")


def test_a_rule_that_does_not_divide_or_decides_about_nothing_is_told():
    parameters = {"w": np.ones((6, 10))}
    with pytest.raises(errors.BadArgumentError, match="divides a dimension that does not divide"):
        ShardedStrategy(CPUS[:4], layout={"w": ("shard",)}).shard(parameters)
    with pytest.raises(errors.BadArgumentError, match="'up/kernel': None matches no variable"):
        ShardedStrategy(CPUS[:4], layout={"up/kernel": None}).layout_table(parameters)


def test_the_table_lists_arrays_and_types_of_arrays():
    strategy = ShardedStrategy(CPUS[:4], layout={"up/kernel": ("shard",)})
    lines: list[str] = []
    strategy.layout_table(jax.eval_shape(make_parameters, jax.random.key(0)), print_fn=lines.append)
    assert "up/kernel      64x256    shard" in lines[0]
    by_size = ShardedStrategy(CPUS[:4])
    elsewhere = strategy.shard({"up/kernel": jnp.ones((256, 512))})
    by_size.layout_table({"key": jax.random.key(0), **elsewhere}, print_fn=lines.append)
    assert "whole: keys" in lines[1]
    assert "as it was placed" in lines[1]
