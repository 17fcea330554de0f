"""Large values that leave programs of eight devices, again and again: nothing waits for itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import stratax as sx
from stratax import summary

pytestmark = pytest.mark.stress
CALLS, STEPS = 300, 3


def test_values_of_every_step_come_while_collectives_run(tmp_path, read):
    strategy = sx.distribute.MirroredStrategy(jax.devices()[:8])
    with strategy.scope():
        step = sx.Variable(0, dtype="int32", aggregation="only_first_replica")
        weights = sx.Variable(np.zeros((300, 300), "float32"))

    def in_replica():
        step.assign_add(1)
        total = sx.distribute.get_replica_context().all_reduce("sum", jnp.ones((300, 300)))
        weights.assign(weights + total * 1e-3)
        summary.scalar("mean", jnp.mean(weights.value), step=step)
        summary.image("picture", jax.nn.sigmoid(weights.value)[None, :, :, None], step=step)
        return jnp.mean(total)

    @sx.function
    def train():
        for _ in sx.range(STEPS):
            mean = strategy.reduce("sum", strategy.run(in_replica), axis=None)
            summary.scalar("outside", mean, step=step)

    writer = summary.create_file_writer(tmp_path)
    with writer.as_default():
        for call in range(CALLS):
            train()
            # Computed, and read by the thread that writes, while the next call overwrites the variable.
            summary.histogram("weights", weights, step=step, buckets=3)
            if call % 50 == 0:
                writer.flush()
    writer.close()
    found = read(tmp_path)
    steps = list(range(1, CALLS * STEPS + 1))
    assert [number for number, _ in found["mean"]] == steps
    assert found["outside"] == [(number, 64.0) for number in steps]
    np.testing.assert_allclose([value for _, value in found["mean"]], np.array(steps) * 8e-3, rtol=1e-3)
    assert [number for number, _ in found["weights"]] == steps[STEPS - 1 :: STEPS]
