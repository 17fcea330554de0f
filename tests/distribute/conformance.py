"""What every strategy has to train as one device does: a custom loop over uneven batches, and its numbers.

Also imported by the programs of workers, which connect before JAX starts: nothing here starts it.
"""

import functools

import jax
import jax.numpy as jnp
import keras
import numpy as np

import stratax as sx
from stratax.core.state import IndexedSlices
from stratax.distribute import compute_average_loss

NUM_ROWS, FEATURES, CLASSES, BATCH = 42, 5, 3, 16
RNG = np.random.default_rng(0)
X = RNG.normal(size=(NUM_ROWS, FEATURES)).astype("float32")
Y = RNG.integers(0, CLASSES, NUM_ROWS).astype("int32")
BATCHES = [(X[i : i + BATCH], Y[i : i + BATCH]) for i in range(0, NUM_ROWS, BATCH)]
EPOCHS = 2


def make_model():
    keras.utils.set_random_seed(3)
    layers = [keras.layers.Dense(24, "relu", name="first"), keras.layers.Dense(CLASSES, name="second")]
    return keras.Sequential(layers)


loss_of_examples = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


@functools.cache
def plain_training():
    """The same training in plain JAX and Keras' stateless API: each step's loss, the weights, the accuracy."""
    model = make_model()
    model.build((None, FEATURES))
    optimizer = keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)
    weights = [v.value for v in model.trainable_variables]
    slots = [v.value for v in optimizer.variables]

    @jax.jit
    def step(weights, slots, x, y):
        def loss(weights):
            logits, _ = model.stateless_call(weights, [], x)
            losses = loss_of_examples(y, logits)
            return jnp.sum(losses) / BATCH, (losses, jnp.argmax(logits, -1) == y)

        (value, (losses, right)), grads = jax.value_and_grad(loss, has_aux=True)(weights)
        weights, slots = optimizer.stateless_apply(slots, grads, weights)
        return weights, slots, value, losses.sum(), right.sum()

    values, sums, rights = [], [], []
    for _ in range(EPOCHS):
        for x, y in BATCHES:
            weights, slots, value, total, right = step(weights, slots, x, y)
            values.append(float(value))
            sums.append(float(total))
            rights.append(int(right))
    seen = EPOCHS * NUM_ROWS
    return {
        "losses": values,
        "weights": [np.asarray(w) for w in weights],
        "accuracy": sum(rights) / seen,
        "mean": sum(sums) / seen,
    }


class Training:
    """A model, an optimizer and metrics under a strategy, and a compiled step."""

    def __init__(self, strategy, with_tape):
        self.strategy = strategy
        self.with_tape = with_tape
        with strategy.scope():
            self.model = make_model()
            self.optimizer = keras.optimizers.Adam(0.05)
            self.accuracy = keras.metrics.SparseCategoricalAccuracy()
            self.mean = keras.metrics.Mean()

    def replica_step(self, x, y):
        def loss():
            logits = self.model(x, training=True)
            losses = loss_of_examples(y, logits)
            return compute_average_loss(losses, global_batch_size=BATCH), (losses, logits)

        variables = lambda: self.model.trainable_variables  # noqa: E731 (the layers are built by the first call)
        if self.with_tape:
            with sx.GradientTape() as tape:
                value, (losses, logits) = loss()
            gradients = tape.gradient(value, variables())
        else:
            (value, (losses, logits)), gradients = sx.value_and_grad(loss, variables, has_aux=True)()
        self.optimizer.apply_gradients(zip(gradients, variables(), strict=True))
        self.accuracy.update_state(y, logits)
        self.mean.update_state(losses)
        return value

    def outcome(self, losses):
        """What `check` takes."""
        return {
            "losses": losses,
            "weights": [v.numpy().tolist() for v in self.model.trainable_variables],
            "accuracy": float(self.accuracy.result()),
            "mean": float(self.mean.result()),
            "iterations": int(self.optimizer.iterations.value),
        }

    @sx.function
    def step(self, x, y):
        per_replica = self.strategy.run(self.replica_step, args=(x, y))
        return self.strategy.reduce("sum", per_replica, axis=None)

    def epoch(self):
        dataset = sx.Dataset.from_tensor_slices((X, Y)).batch(BATCH)
        return [float(self.step(x, y)) for x, y in self.strategy.experimental_distribute_dataset(dataset)]


def check(losses, weights, accuracy, mean, iterations):
    """Raises unless this is what came of the training: the loss of every step, the weights, and the metrics."""
    expected = plain_training()
    np.testing.assert_allclose(losses, expected["losses"], rtol=2e-6)
    for value, theirs in zip(weights, expected["weights"], strict=True):
        np.testing.assert_allclose(value, theirs, atol=3e-6)
    np.testing.assert_allclose([accuracy, mean], [expected["accuracy"], expected["mean"]], rtol=1e-6)
    assert iterations == EPOCHS * len(BATCHES)


def assigned_variables(strategy):
    """Assign variables in replicas and look at them in the same step, twice; return what each replica saw, and values.

    Returns:
        For each step the replicas' values of each look, as lists of this process' replicas, and the variables' values.
    """
    with strategy.scope():
        total = sx.Variable(0.0, aggregation="sum", trainable=False)
        mean = sx.Variable(1.0, aggregation="mean", trainable=False)
        first = sx.Variable(1.0, aggregation="only_first_replica", trainable=False)
        rows = sx.Variable([1.0, 2.0, 3.0], aggregation="mean", trainable=False)
        shared = sx.Variable(0.0, aggregation="sum", synchronization="on_read", trainable=False)

    def replica_step():
        index = jnp.asarray(sx.distribute.get_replica_context().replica_id_in_sync_group, "float32")
        total.assign_add(index + 1)
        seen = total.value
        total.assign(total + seen)
        mean.assign(0.5 * mean + index)
        for _ in sx.range(3):
            first.assign_add(index + first)
        rows.scatter_mul(IndexedSlices(jnp.stack([index + 1, index + 2]), jnp.array([0, 2])))
        shared.assign_add(index)
        return seen, total.value, mean.value, first.value, rows.value

    step = sx.function(lambda: strategy.run(replica_step))
    steps = []
    for _ in range(2):
        looks = [
            [np.asarray(each).tolist() for each in strategy.experimental_local_results(look)]
            for look in step()
        ]
        steps.append((looks, [v.numpy().tolist() for v in (total, mean, first, rows, shared)]))
    return steps


def check_assigned_variables(steps, num_replicas, num_local):
    """Raise unless all looks are TensorFlow's: each assignment is that of all replicas."""
    indices = np.arange(num_replicas)
    total, mean, first, rows, shared = 0.0, 1.0, 1.0, np.array([1.0, 2.0, 3.0]), 0.0
    for looks, values in steps:
        seen = total + np.sum(indices + 1)
        total = num_replicas * 2 * seen
        mean = 0.5 * mean + np.mean(indices)
        for _ in range(3):
            first += first
        rows *= np.array([np.prod((indices + 1) / num_replicas), 1.0, np.prod((indices + 2) / num_replicas)])
        for look, value in zip(looks, (seen, total, mean, first, rows), strict=True):
            np.testing.assert_allclose(look, [value] * num_local, rtol=1e-5)
        np.testing.assert_allclose(values[:3], [total, mean, first], rtol=1e-5)
        shared += np.sum(indices)
        np.testing.assert_allclose(values[3], rows, rtol=1e-5)
        np.testing.assert_allclose(values[4], shared, rtol=1e-5)


def own_values(strategy):
    """Assign a variable without an aggregation in replicas, twice; return what each replica of this process reads."""
    with strategy.scope():
        v = sx.Variable([1.0, 2.0], trainable=False)

    def replica_step():
        index = jnp.asarray(sx.distribute.get_replica_context().replica_id_in_sync_group, "float32")
        v.assign(v * 2 + index)

    step = sx.function(lambda: strategy.run(replica_step))
    step()
    step()
    seen = strategy.experimental_local_results(strategy.run(lambda: v.value))
    return {"own": [np.asarray(each).tolist() for each in seen], "outside": v.numpy().tolist()}


def check_own_values(found, replicas):
    """Raise unless the replicas of these numbers have their own values, and everybody else the first one's."""
    assert found["own"] == [[4.0 + 3 * index, 8.0 + 3 * index] for index in replicas]
    assert found["outside"] == [4.0, 8.0]
