"""What is saved while workers go on is one state: each step is in it as a whole, or not at all."""

import jax.numpy as jnp
import keras
import numpy as np

import stratax as sx
from stratax.distribute.remote import FixedShardsPartitioner
from tests.distribute.coordination.clusters import in_process


def counting(coordinator):
    """Variables on all servers that are equal after each step: a count, weights, statistics, an optimizer's numbers."""
    with coordinator.strategy.scope():
        count = sx.Variable(0, aggregation="sum", name="count")
        weights = [sx.Variable(np.zeros(3, "float32"), name=f"weight_{index}") for index in range(3)]
        optimizer = keras.optimizers.SGD(1.0, momentum=0.0)
        optimizer.build(weights)

    @sx.function
    def step():
        def replica():
            optimizer.apply_gradients([(-jnp.ones(3), weight) for weight in weights])
            count.assign_add(1)

        coordinator.strategy.run(replica)
        return jnp.float32(0)

    return {"count": count, "weights": weights, "optimizer": optimizer}, step


def saved_numbers(path):
    """All numbers that a checkpoint of `counting` has of steps."""
    checkpoint = sx.train.load_checkpoint(path)
    keys = [key for key in checkpoint.get_variable_to_shape_map() if "save_counter" not in key]
    keys = [key for key in keys if "learning_rate" not in key]
    assert len(keys) == 5
    return {int(number) for key in keys for number in np.unique(checkpoint.get_tensor(key))}


def test_a_checkpoint_has_all_of_each_step_while_workers_go_on(tmp_path):
    with in_process(servers=2, workers=2, partitioner=FixedShardsPartitioner(2)) as coordinator:
        held, step = counting(coordinator)
        checkpoint = sx.train.Checkpoint(**held)
        coordinator.schedule(step).fetch()
        for _ in range(150):
            coordinator.schedule(step)
        found = []
        while not coordinator.done():
            found.append(saved_numbers(checkpoint.save(tmp_path / "state")))
        assert all(len(numbers) == 1 for numbers in found)
        steps = [number for numbers in found for number in numbers]
        assert steps == sorted(steps)
        # Workers went on between.
        assert len(set(steps)) > 2
        assert int(held["count"].numpy()) == 151
