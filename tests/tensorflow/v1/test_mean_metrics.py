"""Means: what arithmetic with their values is, and when they are read."""

import jax.numpy as jnp
import numpy as np

import stratax as sx
from stratax.tensorflow import v1
from stratax.tensorflow.v1 import metrics
from tests.tensorflow.v1.evaluated import evaluated
from tests.tensorflow.v1.test_scope import Step


def test_a_number_of_each_step_counts_once_for_each_replica():
    data = np.arange(16, dtype=np.float32)[:, None]
    strategy = sx.distribute.MirroredStrategy([f"/cpu:{index}" for index in range(4)])
    found, _ = evaluated(
        lambda batch: {"loss": metrics.mean(jnp.mean(batch))}, [data[:8], data[8:11]], strategy
    )
    # The remainder is computed by one replica for all four.
    np.testing.assert_allclose(found["loss"], (np.mean(data[:8]) + np.mean(data[8:11])) / 2)


def test_arithmetic_with_values_is_done_when_they_are_read():
    def made(batch):
        first, update = metrics.mean(batch)
        second, other = metrics.mean(2 * batch)
        updates = v1.group(update, other)
        values = {
            "difference": second - first,
            "error": 1 - first,
            "product": 3 * first * second,
            "ratio": first / second,
            "inverse": 1 / first,
            "sum": 1 + first + second,
            "power": -(first**2),
            "float32": np.float32(2.0) * first,
            "array": np.ones(2, np.float32) - first,
        }
        return {key: (value, updates) for key, value in values.items()}

    found, _ = evaluated(made, [np.full(3, 1.0, "f4"), np.full(3, 3.0, "f4")])
    wanted = {
        "difference": 2,
        "error": -1,
        "product": 24,
        "ratio": 0.5,
        "inverse": 0.5,
        "sum": 7,
        "power": -4,
    }
    for key, value in {**wanted, "float32": 4, "array": [-1, -1]}.items():
        np.testing.assert_allclose(found[key], value, err_msg=key)


def test_an_element_of_a_value_is_one_of_a_value():
    found, _ = evaluated(
        lambda batch: {"part": (lambda pair: (pair[0][1], pair[1]))(metrics.mean_tensor(batch))},
        [np.array([1.0, 2.0], "f4"), np.array([3.0, 6.0], "f4")],
    )
    assert found["part"] == 4.0


def test_an_update_read_as_a_tensor_is_the_value_behind_the_batch():
    read = []

    def body(scope, batch):
        value, update = metrics.mean(batch)
        before, early = jnp.asarray(value), jnp.asarray(update)
        with v1.control_dependencies([update]):
            inside = jnp.asarray(update)
        read.append(value)
        scope.run(None)
        return before, early, inside, jnp.asarray(update)

    step = Step(body)
    np.testing.assert_allclose(step(np.float32([1, 3])), [0, 2, 2, 2])
    # It was read, so the batch was added, although nothing ran it.
    np.testing.assert_allclose(step(np.float32([5, 5])), [2, 3.5, 3.5, 3.5])
    assert float(read[-1]) == 3.5
