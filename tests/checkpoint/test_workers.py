"""A checkpoint of one number of processes and devices goes on in another, with the same losses."""

import numpy as np
import pytest

from tests.cluster.processes import run_tasks

PROGRAM = """
import os
import numpy as np, keras
import stratax as sx
strategy = sx.distribute.MultiWorkerMirroredStrategy()
rng = np.random.default_rng(0)
x, y = rng.normal(size=(64, 3)).astype("float32"), rng.normal(size=(64, 2)).astype("float32")
keras.utils.set_random_seed(7 if sys.argv[2] == "save" else 8)
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(2)])
    optimizer = keras.optimizers.Adam(0.01)
iterator = iter(strategy.experimental_distribute_dataset(
    sx.data.Dataset.from_tensor_slices((x, y)).shuffle(64, seed=2).batch(8)))
checkpoint = sx.train.Checkpoint(model=model, optimizer=optimizer, iterator=iterator)

def replica_step(a, b):
    def loss():
        errors = keras.ops.mean(keras.ops.square(model(a) - b), axis=-1)
        return sx.distribute.compute_average_loss(errors, global_batch_size=8)
    value, gradients = sx.value_and_grad(loss, model.trainable_variables)()
    optimizer.apply(gradients, model.trainable_variables)
    return value

@sx.function
def step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=batch), axis=None)

if sys.argv[2] == "save":
    for _ in range(3):
        step(next(iterator))
    checkpoint.write(sys.argv[1])
else:
    status = checkpoint.restore(sys.argv[1])
report(losses=[float(step(next(iterator))) for _ in range(4)])
if sys.argv[2] != "save":
    status.assert_consumed()
checkpoint.sync()
"""


@pytest.mark.programs
@pytest.mark.processes
@pytest.mark.parametrize("saved", [(1, 4), (2, 1)])
def test_the_next_losses_are_the_same_on_other_processes_and_devices(tmp_path, saved):
    def run(layout, action):
        results = run_tasks(layout[0], PROGRAM, str(tmp_path / "ckpt"), action, devices=layout[1])
        assert [result.code for result in results] == [0] * layout[0], results[0].err
        return results[0].report["losses"]

    expected = run(saved, "save")
    other = (2, 2) if saved == (1, 4) else (1, 1)
    np.testing.assert_allclose(run(other, "restore"), expected, rtol=1e-5)
