"""Training of a model that devices have in parts, against JAX by hand and against Keras' `ModelParallel`."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

import stratax as sx
from benchmarks import _measure, _peer

_FEATURES, _WIDTH, _LAYERS, _CLASSES, _BATCH, _BATCHES = 256, 1024, 7, 10, 64, 20
_RATE = 1e-3
_KERAS = """
import os
count = int(sys.argv[1])
flags = f"--xla_force_host_platform_device_count={count}"
os.environ.update(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", XLA_FLAGS=flags, NPROC="16")
import keras
from benchmarks import _sharded
mesh = keras.distribution.DeviceMesh((count,), ["batch"], keras.distribution.list_devices())
layout = keras.distribution.LayoutMap(mesh)
layout[".*kernel"] = ("batch", None)
keras.distribution.set_distribution(
    keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch", auto_shard_dataset=False)
)
model = _sharded.compiled_model()
x, y = _sharded.make_data()

def run():
    model.fit(x, y, batch_size=len(x) // 20, verbose=0, shuffle=False)
"""


def make_data() -> tuple[np.ndarray, np.ndarray]:
    """Random examples and labels of an epoch."""
    random = np.random.default_rng(0)
    x = random.random((_BATCH * _BATCHES, _FEATURES), np.float32)
    return x, random.integers(0, _CLASSES, len(x), np.int32)


def compiled_model() -> keras.Model:
    """Return a perceptron 256-1024x7-10, with Adam."""
    keras.utils.set_random_seed(1)
    hidden = [keras.layers.Dense(_WIDTH, "relu") for _ in range(_LAYERS)]
    model = keras.Sequential([keras.Input((_FEATURES,)), *hidden, keras.layers.Dense(_CLASSES)])
    model.compile(keras.optimizers.Adam(_RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def against_hand_written(plan: _measure.Plan) -> _measure.Figure:
    """A step on a batch that stays on the devices, against `shard_map` with `all_gather` and `psum_scatter`."""
    strategy = sx.distribute.ShardedStrategy()
    with strategy.scope():
        model = compiled_model()
    variables = model.trainable_variables
    losses_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

    def replica(x: Any, y: Any) -> Any:
        def loss() -> Any:
            return sx.distribute.compute_average_loss(
                losses_of(y, model(x, training=True)), global_batch_size=_BATCH
            )

        value, gradients = sx.value_and_grad(loss, variables)()
        model.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return value

    @sx.function
    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("sum", strategy.run(replica, (x, y)), axis=None)

    x, y = make_data()
    (batch,) = strategy.experimental_distribute_dataset([(x[:_BATCH], y[:_BATCH])])
    theirs = _HandWritten([variable.numpy() for variable in variables])
    placed = theirs.place(x[:_BATCH], y[:_BATCH])
    ours_loss, their_loss = float(step(*batch)), float(theirs.step(*placed))
    if abs(ours_loss - their_loss) > 1e-5 * their_loss:
        raise AssertionError(f"The two sides compute differently: {ours_loss}, {their_loss}.")

    def run_ours(count: int) -> None:
        for _ in range(count):
            loss = step(*batch)
        jax.block_until_ready(loss)

    def run_theirs(count: int) -> None:
        for _ in range(count):
            loss = theirs.step(*placed)
        jax.block_until_ready(loss)

    ours, by_hand = _measure.in_turns(run_ours, run_theirs, plan=plan)
    return _measure.ratio(ours, by_hand, unit="ms", numerator="stratax", denominator="by_hand")


def against_keras(plan: _measure.Plan) -> _measure.Figure:
    """An epoch of `fit`, times as fast as Keras' with a `LayoutMap` over the axis of the batch."""
    with sx.distribute.ShardedStrategy().scope():
        model = compiled_model()
    x, y = make_data()

    def run_ours(count: int) -> None:
        for _ in range(count):
            model.fit(x, y, batch_size=_BATCH, verbose=0, shuffle=False)

    with _peer.process(sys.executable, _KERAS, str(jax.device_count())) as theirs:
        ours, by_keras = _measure.in_turns(run_ours, theirs, plan=plan)
    return _measure.ratio(by_keras, ours, unit="ms", numerator="keras", denominator="stratax")


class _HandWritten:
    """The same step in JAX, every matrix divided along its largest dimension that the devices divide."""

    def __init__(self, weights: list[np.ndarray]) -> None:
        self._mesh = mesh = jax.make_mesh((jax.device_count(),), ("shard",))
        specs = [_spec_of(weight) for weight in weights]
        placed = [
            jax.device_put(weight, NamedSharding(mesh, spec))
            for weight, spec in zip(weights, specs, strict=True)
        ]
        self._state = placed, jax.tree.map(jnp.zeros_like, placed), jax.tree.map(jnp.zeros_like, placed), 0
        self._step = jax.jit(self._make(specs), donate_argnums=0)

    def place(self, *arrays: np.ndarray) -> list[jax.Array]:
        """Divide a batch among the devices."""
        return [jax.device_put(array, NamedSharding(self._mesh, PartitionSpec("shard"))) for array in arrays]

    def step(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Run a step and return the loss."""
        self._state, loss = self._step(self._state, x, y)
        return loss

    def _make(self, specs: list[PartitionSpec]) -> Any:
        def gathered(part: jax.Array, spec: PartitionSpec) -> jax.Array:
            dims = [dim for dim, axis in enumerate(spec) if axis]
            return jax.lax.all_gather(part, "shard", axis=dims[0], tiled=True) if dims else part

        def gradients_of(parts: list[jax.Array], x: jax.Array, y: jax.Array) -> Any:
            def loss_of(parts: list[jax.Array]) -> jax.Array:
                whole = [gathered(part, spec) for part, spec in zip(parts, specs, strict=True)]
                hidden = x
                for kernel, bias in zip(whole[:-2:2], whole[1:-2:2], strict=True):
                    hidden = jax.nn.relu(hidden @ kernel + bias)
                logits = hidden @ whole[-2] + whole[-1]
                chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)
                return -jnp.sum(chosen) / _BATCH

            loss, gradients = jax.value_and_grad(loss_of)(parts)
            # What was gathered is summed in parts by the gradient of the gather itself.
            whole = [None if any(spec) else gradient for gradient, spec in zip(gradients, specs, strict=True)]
            loss, whole = jax.lax.psum((loss, whole), "shard")
            return loss, [
                mine if total is None else total for mine, total in zip(gradients, whole, strict=True)
            ]

        batch, same = PartitionSpec("shard"), PartitionSpec()
        mapped = jax.shard_map(
            gradients_of,
            mesh=self._mesh,
            in_specs=(specs, batch, batch),
            out_specs=(same, specs),
            check_vma=False,
        )

        def step(state: Any, x: jax.Array, y: jax.Array) -> Any:
            weights, means, squares, count = state
            loss, gradients = mapped(weights, x, y)
            count = count + 1
            means = jax.tree.map(lambda m, g: m + (g - m) * 0.1, means, gradients)
            squares = jax.tree.map(lambda v, g: v + (g * g - v) * 0.001, squares, gradients)
            rate = _RATE * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
            weights = jax.tree.map(
                lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), weights, means, squares
            )
            return (weights, means, squares, count), loss

        return step


def _spec_of(weight: np.ndarray) -> PartitionSpec:
    """Return how the strategy divides a weight by itself."""
    count = jax.device_count()
    divides = [dim for dim, size in enumerate(weight.shape) if size % count == 0]
    if weight.size < 8192 or not divides:
        return PartitionSpec()
    chosen = max(divides, key=lambda dim: weight.shape[dim])
    return PartitionSpec(*("shard" if dim == chosen else None for dim in range(chosen + 1)))
