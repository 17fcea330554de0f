"""The model behind `stratax plan`, on simulated devices: ratios of steps that it tells, beside measured ones.

The machine's peaks are measured first, in the same process and with as many devices at work: products of matrices, sums
of large arrays, an all-reduce. The model is the one that is used for TPUs, of the same program compiled for the
processor.
"""

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import stratax as sx
from benchmarks import _measure
from stratax.command.rehearsal import (
    Catcher,
    Estimate,
    Topology,
    collectives_of,
    estimate,
    parse_topology,
    traffic_of,
)

_LAYERS = 4
_MATRIX = 1024
_LARGE = 8 << 20
_PEAK_ROUNDS = 7


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A gradient of a few layers on a global batch.

    Attributes:
        width: Features of each layer.
        batch: The global batch.
        devices: How many devices divide it.
        is_dense: Whether layers are products of matrices; else they scale each feature.
        is_combined: Whether devices combine their gradients.
    """

    width: int = 1024
    batch: int = 1024
    devices: int = 8
    is_dense: bool = True
    is_combined: bool = True


PAIRS = {
    "batch": (Step(batch=4096), Step(batch=512)),
    "width": (Step(width=1024), Step(width=512)),
    "links": (Step(batch=256), Step(batch=256, is_combined=False)),
    "devices": (Step(), Step(devices=4)),
    "memory": (Step(batch=4096, is_dense=False), Step(batch=512)),
}


def ratio(*, plan: _measure.Plan, name: str) -> _measure.Figure:
    """How many times the ratio of two steps that was measured is that of the model."""
    first, second = PAIRS[name]
    (run_first, model_first), (run_second, model_second) = _made(first), _made(second)
    modelled = model_first.seconds / model_second.seconds
    pairs = zip(*_measure.in_turns(run_first, run_second, plan=plan), strict=True)
    measured = [(a / b, a, b) for a, b in pairs]
    details = {
        "measured_x": statistics.median(each[0] for each in measured),
        "model_x": modelled,
        "measured_ms": statistics.median(each[1] for each in measured) * 1e3,
        f"model_({model_first.bound})_ms": model_first.seconds * 1e3,
        "beside_measured_ms": statistics.median(each[2] for each in measured) * 1e3,
        f"beside_model_({model_second.bound})_ms": model_second.seconds * 1e3,
    }
    return _measure.spread([each[0] / modelled for each in measured], details)


def _made(step: Step) -> tuple[_measure.Run, Estimate]:
    """Return what runs a step, and what the model says of it."""
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(step.devices)])
    random = np.random.default_rng(0)
    shape = (step.width, step.width) if step.is_dense else (step.width,)
    weights = [random.standard_normal(shape, np.float32) / step.width**0.5 for _ in range(_LAYERS)]
    batch = random.standard_normal((step.batch, step.width), np.float32)
    part = step.batch // step.devices
    parts = strategy.experimental_distribute_values_from_function(
        lambda context: batch[context.replica_id_in_sync_group * part :][:part]
    )

    def loss(values: list[jax.Array], x: jax.Array) -> jax.Array:
        for value in values:
            x = jnp.tanh(x @ value if step.is_dense else x * value)
        return jnp.mean(x * x)

    def replica(x: jax.Array) -> jax.Array:
        gradients = jax.grad(loss)([jnp.asarray(weight) for weight in weights], x)
        if step.is_combined:
            gradients = sx.distribute.get_replica_context().all_reduce("MEAN", gradients)
        return sum(jnp.vdot(gradient, gradient) for gradient in gradients)

    @sx.function
    def call(x: object) -> object:
        return strategy.run(replica, args=(x,))

    catcher = Catcher()
    with catcher.catching():
        call(parts)
    made = catcher.caught[-1]
    compiled = made.compiled.lower(*made.arguments).compile()
    text = compiled.as_text()
    flops = float(compiled.cost_analysis()["flops"])
    model = estimate(_peaks(step.devices), flops, traffic_of(text), collectives_of(text))

    def run(count: int) -> None:
        for _ in range(count):
            result = call(parts)
        jax.block_until_ready(jax.tree.leaves(result))

    return run, model


@functools.cache
def _peaks(count: int) -> Topology:
    """Return this machine, with as many devices at work at once, as if it were a slice."""
    mesh = Mesh(np.array(jax.devices()[:count]), ("replica",), axis_types=(AxisType.Auto,))
    matrix, large = (_MATRIX, _MATRIX), (_LARGE,)
    product = _seconds(mesh, matrix, lambda x: x @ x)
    copy = _seconds(mesh, large, lambda x: x + 1)
    reduced = _seconds(mesh, large, lambda x: jax.lax.psum(x, "replica"))
    here = dataclasses.replace(
        parse_topology("v5e-8").generation,
        name="here",
        flops=2 * _MATRIX**3 / product,
        memory_bandwidth=2 * 4 * _LARGE / copy,
        link_bandwidth=2 * (count - 1) / count * 4 * _LARGE / reduced,
        full_dim=0,
        source="measured",
    )
    return Topology(here, (count,))


def _seconds(mesh: Mesh, shape: tuple[int, ...], function: Callable[[jax.Array], jax.Array]) -> float:
    """Return how long a function of an array takes on all devices at once; the shortest of a few times."""
    spread = PartitionSpec("replica")
    run = jax.jit(
        jax.shard_map(
            lambda x: function(x[0])[None], mesh=mesh, in_specs=spread, out_specs=spread, check_vma=False
        )
    )
    array = jax.device_put(np.ones((mesh.size, *shape), np.float32), NamedSharding(mesh, spread))
    jax.block_until_ready(run(array))
    times = []
    for _ in range(_PEAK_ROUNDS):
        started = time.perf_counter()
        jax.block_until_ready(run(array))
        times.append(time.perf_counter() - started)
    return min(times)
