"""Checkpoints of trees of arrays: of JAX, Flax NNX, Equinox and Optax, whole and in parts, onto any arrangement."""

import equinox as eqx
import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
import pytest
from flax import nnx

import stratax as sx
from stratax import errors
from stratax.distribute import ShardedStrategy
from stratax.train import Checkpoint
from tests.cluster.processes import run_tasks

CPUS = [f"/cpu:{index}" for index in range(8)]
ADAM = optax.adam(0.1)


class Network(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(64, 256, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)


def make_network(seed):
    return nnx.state(Network(nnx.Rngs(seed)))


def make_mlp(seed):
    return eqx.nn.MLP(64, 4, 128, 2, key=jax.random.key(seed))


def numbers_of(tree):
    arrays = [leaf for leaf in jax.tree.leaves(tree) if isinstance(leaf, jax.Array)]
    is_key = [jax.dtypes.issubdtype(each.dtype, jax.dtypes.prng_key) for each in arrays]
    return [
        np.asarray(jax.random.key_data(each) if key else each)
        for each, key in zip(arrays, is_key, strict=True)
    ]


def checkpoint_of(strategy, seed):
    mlp = strategy.shard(make_mlp, seed)
    return Checkpoint(
        network=strategy.shard(make_network, seed),
        mlp=mlp,
        slots=strategy.shard(ADAM.init, eqx.filter(mlp, eqx.is_array)),
        key=jax.random.key(seed),
        half=jnp.full(3, seed, jnp.bfloat16),
        steps=sx.Variable(seed),
    )


@pytest.mark.parametrize(("count", "options"), [(8, {"replicas": 2}), (2, {}), (1, {})])
def test_trees_are_restored_onto_any_arrangement_to_the_bit(tmp_path, count, options):
    saved, restored = (
        checkpoint_of(ShardedStrategy(CPUS[:4]), 3),
        checkpoint_of(ShardedStrategy(CPUS[:count], **options), 5),
    )
    path = saved.save(tmp_path / "ckpt")
    places = [leaf.sharding for leaf in jax.tree.leaves(restored.network)]
    restored.restore(path).assert_consumed()
    for name in ("network", "mlp", "slots", "key", "half"):
        for mine, theirs in zip(
            numbers_of(getattr(restored, name)), numbers_of(getattr(saved, name)), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)
    assert [leaf.sharding for leaf in jax.tree.leaves(restored.network)] == places
    assert int(restored.steps) == 3
    # What is no array is what was given.
    assert restored.mlp(jnp.ones(64)).shape == (4,)
    assert isinstance(restored.slots[0], optax.ScaleByAdamState)
    assert "network/up/kernel" in dict(sx.train.list_variables(path))


def test_a_manager_saves_what_was_set_last_and_gives_it_back(tmp_path):
    checkpoint = Checkpoint(parameters={"w": jnp.zeros(3)}, inner=Checkpoint(step=jnp.int32(0)))
    manager = sx.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    for step in range(3):
        checkpoint.parameters = {"w": checkpoint.parameters["w"] + 1}
        checkpoint.inner.step = jnp.int32(step)
        manager.save()
    again = Checkpoint(parameters={"w": jnp.ones(3)}, inner=Checkpoint(step=jnp.int32(7)))
    sx.train.CheckpointManager(again, tmp_path, max_to_keep=2).restore_or_initialize()
    np.testing.assert_array_equal(again.parameters["w"], np.full(3, 3.0))
    assert int(again.inner.step) == 2


def test_a_tree_that_is_set_after_the_restore_gets_the_values_that_wait_for_it(tmp_path):
    path = Checkpoint(w=jnp.arange(4.0)).save(tmp_path / "ckpt")
    checkpoint = Checkpoint()
    status = checkpoint.restore(path)
    checkpoint.w = jnp.zeros(4)
    np.testing.assert_array_equal(checkpoint.w, np.arange(4.0))
    status.assert_consumed()
    del checkpoint.w
    assert not hasattr(checkpoint, "w")
    # One that was set anew is the one that was set.
    checkpoint.w = jnp.ones(4)
    np.testing.assert_array_equal(checkpoint.w, np.ones(4))


def test_what_is_not_as_it_was_saved_or_can_not_be_saved_is_refused(tmp_path):
    with pytest.raises(errors.BadTypeError, match="no array of NumPy among them"):
        Checkpoint(tree={"a": jnp.ones(3), "b": np.ones(3)})
    mixed = Checkpoint(tree={"a": jnp.ones(3), "b": keras.layers.Dense(3)})
    with pytest.raises(errors.BadTypeError, match="Received: tree/a="):
        mixed.save(tmp_path / "ckpt")
    given = Checkpoint(tree={"a": jnp.ones(3)})
    path = given.save(tmp_path / "ckpt")
    given.sync()
    with pytest.raises(errors.RestoreError, match=r"tree/a is float32\[4\], its value is float32\[3\]"):
        Checkpoint(tree={"a": jnp.ones(4)}).restore(path)
    jax.jit(lambda tree: jax.tree.map(jnp.sin, tree), donate_argnums=0)(given.tree)
    with pytest.raises(errors.BadArgumentError, match=r"Arrays of a checkpoint are gone.*tree/a"):
        given.save(tmp_path / "ckpt")


WORKERS = """
import json
import jax, jax.numpy as jnp, numpy as np, optax
import stratax as sx
folder, action = sys.argv[1:3]
strategy = sx.distribute.ShardedStrategy(**json.loads(sys.argv[3]))
rank = jax.process_index()
momentum = optax.sgd(0.1, momentum=0.9)
x = np.random.default_rng(0).normal(size=(44, 64)).astype("float32")

def make(key):
    up, down = jax.random.split(key)
    return {"up": jax.random.normal(up, (64, 256)) / 8, "down": jax.random.normal(down, (256, 64)) / 16}

@sx.function
def step(parameters, state, batch):
    def gradients_of(parameters, batch):
        def loss_of(parameters):
            rows = jnp.mean((jnp.tanh(batch @ parameters["up"]) @ parameters["down"] - batch) ** 2, axis=1)
            return sx.distribute.compute_average_loss(rows)
        return jax.value_and_grad(loss_of)(parameters)
    loss, gradients = strategy.reduce("sum", strategy.run(gradients_of, args=(parameters, batch)), axis=None)
    updates, state = momentum.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, loss

def train(parameters, state):
    losses = []
    for batch in strategy.experimental_distribute_dataset(sx.Dataset.from_tensor_slices(x).batch(16)):
        parameters, state, loss = step(parameters, state, batch)
        losses.append(float(loss))
    return parameters, state, losses

# Each process has drawn another key: all take the chief's.
parameters = strategy.shard(make, jax.random.key(3 + rank))
state = strategy.shard(momentum.init, parameters)
names = strategy.shard({"rank": np.arange(rank, rank + 3)})
checkpoint = sx.train.Checkpoint(parameters=parameters, state=state)
if action == "save":
    parameters, state, losses = train(parameters, state)
    checkpoint.parameters, checkpoint.state = parameters, state
    path = checkpoint.save(folder + "/ckpt")
    checkpoint.sync()
    report(losses=losses, ranks=np.asarray(names["rank"].addressable_data(0)).tolist(),
           there=sorted(os.listdir(path + "/arrays")))
else:
    checkpoint.restore(folder + "/ckpt-1").assert_consumed()
    parameters, state = checkpoint.parameters, checkpoint.state
parts = {name: each.sharding.shard_shape(each.shape) for name, each in parameters.items()}
report(more=train(parameters, state)[2], parts=parts)
"""


@pytest.mark.programs
@pytest.mark.processes
def test_trees_of_two_workers_train_and_go_on_with_any_number(tmp_path):
    def run(count, action, devices, options="{}"):
        results = run_tasks(count, WORKERS, str(tmp_path), action, options, devices=devices)
        assert [result.code for result in results] == [0] * count, [result.err for result in results]
        assert all(result.report == results[0].report for result in results)
        return results[0].report

    saved = run(2, "save", 2)
    assert {"process_0", "process_1"} <= set(saved["there"])
    assert saved["ranks"] == [0, 1, 2]
    assert saved["parts"] == {"up": [64, 64], "down": [64, 64]}
    assert saved["losses"][-1] < saved["losses"][0]
    for count, devices, options, parts in ((1, 1, "{}", 1), (2, 4, '{"replicas": 2}', 4)):
        found = run(count, "restore", devices, options)
        np.testing.assert_allclose(found["more"], saved["more"], rtol=1e-5)
        assert found["parts"] == {"up": [64, 256 // parts], "down": [256 // parts, 64]}
