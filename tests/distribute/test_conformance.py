"""Every strategy gives one device's numbers: weights, losses and metrics of a custom loop over uneven batches."""

import logging
import os

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import stratax as sx
from stratax.distribute import (
    AllReduceCrossDeviceOps,
    CentralStorageStrategy,
    HierarchicalCopyAllReduce,
    MirroredStrategy,
    NcclAllReduce,
    OneDeviceStrategy,
    ReductionToOneDevice,
    RingAllReduce,
    ShardedStrategy,
    TPUStrategy,
    compute_average_loss,
    get_strategy,
)
from tests import stressed
from tests.distribute.conformance import (
    EPOCHS,
    RNG,
    Training,
    assigned_variables,
    check,
    check_assigned_variables,
    check_own_values,
    own_values,
)

pytestmark = pytest.mark.exact


class TreeSum(AllReduceCrossDeviceOps):
    """A user's own: gathers everything and adds it up."""

    calls = 0

    def sum_buffers(self, buffers, axis_name, num_replicas):
        TreeSum.calls += 1
        return [jnp.sum(jax.lax.all_gather(buffer, axis_name), 0) for buffer in buffers]


def mirrored(count, ops=None):
    return lambda: MirroredStrategy([f"/cpu:{i}" for i in range(count)], ops)


def sharded(count, **options):
    # Of the small model, too: its first layer's outputs divide by 2, 3 and 8.
    layout = {"first/kernel": (None, "shard"), "first/bias": ["shard"], "second/kernel": ("shard", None)}
    return lambda: ShardedStrategy([f"/cpu:{i}" for i in range(count)], **{"layout": layout, **options})


# What devices side by side have parts of, besides what a group has.
BY_MODEL = {"first/kernel": (None, "model"), "first/bias": ["model"], "second/kernel": ("model",)}


STRATEGIES = {
    "default": get_strategy,
    "one": lambda: OneDeviceStrategy("/cpu:3"),
    "mirrored1": mirrored(1),
    "mirrored2": mirrored(2),
    "mirrored4": mirrored(4),
    "mirrored8": mirrored(8),
    "mirrored3": lambda: MirroredStrategy(["/cpu:5", "/cpu:1", "/cpu:2"]),
    "unpacked": mirrored(4, NcclAllReduce(num_packs=0)),
    "hierarchical": mirrored(4, HierarchicalCopyAllReduce()),
    "ring": mirrored(4, RingAllReduce(bytes_per_pack=64)),
    "one_device_sum": mirrored(4, ReductionToOneDevice()),
    "own_ops": mirrored(4, TreeSum()),
    "central": lambda: CentralStorageStrategy([f"/cpu:{i}" for i in range(4)], "/cpu:7"),
    "central1": lambda: CentralStorageStrategy(["/cpu:2"]),
    "sharded1": sharded(1),
    "sharded2": sharded(2),
    "sharded3": sharded(3),
    # The features divide by 5, and the batch does not.
    "sharded5": sharded(5, layout={"first/kernel": ("shard",)}),
    "sharded8": sharded(8),
    "hybrid4": sharded(4, replicas=2),
    "model2": sharded(2, model=2, layout=BY_MODEL),
    "model8": sharded(8, replicas=2, model=2, layout=BY_MODEL),
}
if os.environ["STRATAX_SIMULATE"].startswith("tpu"):
    STRATEGIES = {"tpu": TPUStrategy}


LIKE_ANOTHER = {
    *("mirrored1", "mirrored2", "mirrored4", "mirrored8", "central", "central1", "hierarchical", "unpacked"),
    *("sharded1", "sharded2", "sharded3", "sharded5"),
}
"""Strategies whose custom loop is that of another, on another number of devices or with other options.

Whether there is a tape is nothing to a strategy: those of which one is asked for run with it, the others without.
"""


@pytest.mark.parametrize(
    ("name", "with_tape"),
    stressed.but(
        lambda name, with_tape: with_tape or name not in LIKE_ANOTHER | {"one"},
        [(name, False) for name in STRATEGIES]
        + [(name, True) for name in ("one", "mirrored4", "central", "hybrid4", "tpu") if name in STRATEGIES],
    ),
)
def test_a_custom_loop_gives_one_devices_numbers_and_compiles_once(name, with_tape, caplog):
    training = Training(STRATEGIES[name](), with_tape)
    counts = []
    losses = []
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        for _ in range(EPOCHS):
            losses += training.epoch()
            counts.append(len([r for r in caplog.records if "Compiling" in r.getMessage()]))
    assert counts[0] > 0
    assert counts[1] == counts[0]
    assert training.step.num_programs == 2
    check(**training.outcome(losses))


@pytest.mark.skipif("own_ops" not in STRATEGIES, reason="needs eight CPU devices")
def test_a_users_cross_device_ops_are_really_called():
    TreeSum.calls = 0
    strategy = STRATEGIES["own_ops"]()
    strategy.run(lambda: sx.distribute.get_replica_context().all_reduce("sum", 1.0))
    assert TreeSum.calls == 1


@pytest.mark.skipif("mirrored4" not in STRATEGIES, reason="needs eight CPU devices")
@pytest.mark.filterwarnings("ignore:.*was traced:RuntimeWarning")
@pytest.mark.parametrize("count", stressed.but(lambda count: count == 3, [1, 2, 3, 4]))
def test_any_number_of_rows_gives_the_same_weights_loss_and_metrics(count):
    """A linear model by hand, in float64, against 1 to 33 rows in batches of 6."""
    strategy = mirrored(count)()
    x = RNG.normal(size=(33, 2)).astype("float32")
    y = (x @ [1.0, -2.0] + 0.5).astype("float32")
    with strategy.scope():
        w, b = sx.Variable(np.zeros(2, "float32"), name="w"), sx.Variable(0.0, name="b")
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build([w, b])
        error = keras.metrics.Mean()

    def replica_step(x, y):
        def loss():
            losses = (x @ w.value + b - y) ** 2
            return compute_average_loss(losses), losses

        (value, losses), gradients = sx.value_and_grad(loss, [w, b], has_aux=True)()
        optimizer.apply_gradients(zip(gradients, [w, b], strict=True))
        error.update_state(losses)
        return value

    @sx.function
    def step(batch):
        return strategy.reduce("sum", strategy.run(replica_step, args=batch), axis=None)

    state = [w, b, *optimizer.variables, *error.variables]
    initial = [v.numpy() for v in state]
    for rows in range(1, 34):
        for variable, value in zip(state, initial, strict=True):
            variable.assign(value)
        batches = [(x[i : min(i + 6, rows)], y[i : min(i + 6, rows)]) for i in range(0, rows, 6)]
        losses = [float(step(batch)) for batch in strategy.experimental_distribute_dataset(batches)]
        theta, velocity, truth, total = np.zeros(3), np.zeros(3), [], 0.0
        for bx, by in batches:
            design = np.concatenate([bx, np.ones((len(bx), 1))], 1).astype("float64")
            residual = design @ theta - by
            truth.append(np.mean(residual**2))
            total += np.sum(residual**2)
            velocity = 0.9 * velocity - 0.1 * (2 / len(bx)) * design.T @ residual
            theta = theta + velocity
        np.testing.assert_allclose(losses, truth, rtol=2e-5, atol=1e-6)
        np.testing.assert_allclose([*w.numpy(), b.numpy()], theta, rtol=1e-5, atol=1e-5)
        assert float(error.result()) == pytest.approx(total / rows, rel=2e-5)
    assert step.num_programs == 6  # one for the full batch, one for each remainder of 1 to 5 rows


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_variable_has_the_combined_value_from_its_assignment_on(name):
    strategy = STRATEGIES[name]()
    count = strategy.num_replicas_in_sync
    check_assigned_variables(assigned_variables(strategy), count, count)


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "central"])
def test_a_variable_without_aggregation_is_each_replicas_own(name):
    strategy = STRATEGIES[name]()
    check_own_values(own_values(strategy), range(strategy.num_replicas_in_sync))
