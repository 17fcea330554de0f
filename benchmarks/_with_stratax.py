"""The same training as a program of Stratax: a custom loop with `strategy.run` inside `stratax.function`."""

from typing import Any

import jax
import keras

import stratax as sx
from benchmarks import _models


class CustomLoop:
    """A training program.

    Args:
        kind: Which model.
        steps: How many steps a dispatch makes.
        data: What it trains on, over and over, each time in a new random order.
        strategy: The strategy; None: a `MirroredStrategy` over all devices.
        batch: How many examples a step takes.
    """

    def __init__(
        self,
        kind: str,
        steps: int,
        data: _models.Data,
        strategy: sx.distribute.Strategy | None = None,
        *,
        batch: int = _models.BATCH,
    ) -> None:
        self._batch = batch
        self.strategy = strategy or sx.distribute.MirroredStrategy()
        with self.strategy.scope():
            self.model = _models.make_model(kind)
            self.optimizer = _models.make_optimizer()
            self.optimizer.build(self.model.trainable_variables)
            self.loss, self.accuracy = _models.make_metrics()
        dataset = sx.Dataset.from_tensor_slices((data.x, data.y)).shuffle(len(data.y))
        dataset = dataset.batch(batch).repeat()
        distributed = self.strategy.experimental_distribute_dataset(dataset)
        self._one = next(iter(distributed))
        self._batches = iter(distributed)
        self._steps = steps

    def dispatch_resident(self) -> jax.Array:
        """One step on a batch that is on the devices already; returns the loss."""
        return self._train_step(self._one)

    def dispatch(self) -> jax.Array:
        """One dispatch on the next batches; returns the last step's loss."""
        return self._train_steps(self._batches)

    @sx.function
    def _train_step(self, batch: Any) -> Any:
        return self._run(batch)

    @sx.function
    def _train_steps(self, batches: Any) -> Any:
        loss = 0.0
        for _ in sx.range(self._steps):
            loss = self._run(next(batches))
        return loss

    def _run(self, batch: Any) -> Any:
        losses = self.strategy.run(self._replica_step, args=(batch,))
        return self.strategy.reduce("SUM", losses, axis=None)

    def _replica_step(self, batch: Any) -> Any:
        x, y = batch

        def loss_fn() -> Any:
            logits = self.model(x, training=True)
            losses = _models.losses(y, logits)
            mean = sx.distribute.compute_average_loss(losses, global_batch_size=self._batch)
            return mean, (losses, logits)

        variables = self.model.trainable_variables
        (loss, (losses, logits)), gradients = sx.value_and_grad(loss_fn, variables, has_aux=True)()
        self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
        self.loss.update_state(losses)
        self.accuracy.update_state(y, logits)
        return loss


def compiled_model(kind: str, steps_per_execution: int = 1) -> keras.Model:
    """A model of Keras, built and compiled here; in a strategy's scope it trains with that."""
    model = _models.make_model(kind)
    model.compile(
        optimizer=_models.make_optimizer(),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[_models.make_metrics()[1]],
        steps_per_execution=steps_per_execution,
    )
    return model
