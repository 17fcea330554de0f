"""Training as one writes it in JAX by hand, with Keras' model, optimizer and metrics: what Stratax is compared with.

Keras' stateless API inside `jit(shard_map(...))`, all state donated, gradients summed in one call of `psum`, metrics
counted on each replica and summed once per dispatch, many steps as one `scan` over stacked batches.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from benchmarks import _models

_AXIS = "replica"


class HandWritten:
    """A training program.

    Args:
        kind: Which model.
        steps: How many steps a dispatch makes.
        counts: Whether it counts metrics.
        devices: For which devices; None: for those that there are. For others it can only be compiled.
    """

    def __init__(
        self, kind: str, steps: int, *, counts: bool = True, devices: Sequence[jax.Device] | None = None
    ) -> None:
        self._kind = kind
        self._counts = counts
        self.model = _models.make_model(kind)
        self.optimizer = _models.make_optimizer()
        self.optimizer.build(self.model.trainable_variables)
        self.loss, self.accuracy = _models.make_metrics()
        self.steps = steps
        every = np.array(jax.devices() if devices is None else devices)
        self.num_replicas = len(every)
        self._mesh = Mesh(every, (_AXIS,), axis_types=(AxisType.Auto,))
        self._same, self._batches = self._where(PartitionSpec()), self._where(self._spec)
        self._compiled = self._over_replicas(self._dispatch, donated=0, batches=2)
        if devices is None:
            self.state = self.initial_state()

    def initial_state(self) -> Any:
        """The state: weights, the rest of the model's variables, the optimizer's, the metrics'."""
        # Copies, because the first dispatch takes the buffers that it is given.
        values = tuple([np.array(variable.value) for variable in group] for group in self._variables)
        return jax.device_put(values, self._same)

    def place(self, x: np.ndarray, y: np.ndarray) -> tuple[jax.Array, jax.Array]:
        """Moves the examples of one dispatch to the devices: a batch, or as many batches as it makes steps."""
        if self.steps > 1:
            x = x.reshape(self.steps, -1, *x.shape[1:])
            y = y.reshape(self.steps, -1)
        return jax.device_put((x, y), self._batches)

    def batches(self, data: _models.Data) -> Iterator[tuple[jax.Array, jax.Array]]:
        """One pass over the data in a new random order: the examples of each dispatch, on the devices."""
        order = np.random.permutation(len(data.y))
        size = self.steps * _models.BATCH
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            yield self.place(data.x[chosen], data.y[chosen])

    def dispatch(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """One dispatch; returns the last step's loss."""
        self.state, loss = self._compiled(self.state, x, y)
        return loss

    def reset_metrics(self) -> None:
        """Starts the metrics anew."""
        zeros = [np.zeros(value.shape, value.dtype) for value in self.state[3]]
        self.state = (*self.state[:3], jax.device_put(zeros, self._same))

    def results(self) -> dict[str, float]:
        """The metrics."""
        loss, accuracy = self._split(self.state[3])
        return {
            "loss": float(self.loss.stateless_result(loss)),
            "accuracy": float(self.accuracy.stateless_result(accuracy)),
        }

    def compiled(self, method: str, batch: int) -> tuple[Any, tuple[Any, ...]]:
        """A program, and the types of its arguments.

        Args:
            method: `"train"`, `"evaluate"` or `"predict"`.
            batch: How many examples there are on each device.
        """
        trainable, rest, _, metrics = state = tuple(
            [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=self._same) for each in group]
            for group in self._variables
        )
        leading = (batch * self.num_replicas,) if self.steps == 1 else (self.steps, batch * self.num_replicas)
        x = jax.ShapeDtypeStruct(
            (*leading, *_models.shape_of(self._kind)), np.float32, sharding=self._batches
        )
        y = jax.ShapeDtypeStruct(leading, np.int32, sharding=self._batches)
        if method == "train":
            return self._compiled, (state, x, y)
        if method == "evaluate":
            run = self._over_replicas(self._evaluate, donated=0, batches=2, kept=1)
            return run, (metrics, (trainable, rest), x, y)
        run = self._over_replicas(self._predict, batches=1, gives=self._spec)
        return run, ((trainable, rest), x)

    @property
    def _variables(self) -> tuple[list[keras.Variable], ...]:
        return (
            self.model.trainable_variables,
            self.model.non_trainable_variables,
            self.optimizer.variables,
            self._metric_variables(),
        )

    @property
    def _spec(self) -> PartitionSpec:
        return PartitionSpec(_AXIS) if self.steps == 1 else PartitionSpec(None, _AXIS)

    def _where(self, spec: PartitionSpec) -> NamedSharding:
        return NamedSharding(self._mesh, spec)

    def _over_replicas(
        self,
        run: Any,
        *,
        batches: int,
        kept: int = 0,
        donated: int | None = None,
        gives: PartitionSpec | None = None,
    ) -> Any:
        """Compiles a function of state and batches, the latter of which are divided among the replicas."""
        same = PartitionSpec()
        if self.num_replicas > 1:
            run = jax.shard_map(
                run,
                mesh=self._mesh,
                in_specs=(same,) * (1 + kept) + (self._spec,) * batches,
                out_specs=same if gives is None else gives,
                check_vma=False,
            )
        return jax.jit(run, donate_argnums=donated)

    def _evaluate(self, metrics: list[Any], weights: Any, x: Any, y: Any) -> tuple[list[Any], list[Any]]:
        counted = [jnp.zeros_like(value) for value in metrics]
        if self.steps == 1:
            counted, _ = self._counted(weights, counted, (x, y))
        else:
            counted, _ = jax.lax.scan(functools.partial(self._counted, weights), counted, (x, y))
        if self.num_replicas > 1:
            counted = jax.lax.psum(counted, _AXIS)
        metrics = [old + more for old, more in zip(metrics, counted, strict=True)]
        mean, accuracy = self._split(metrics)
        return metrics, [self.loss.stateless_result(mean), self.accuracy.stateless_result(accuracy)]

    def _counted(self, weights: Any, counted: list[Any], batch: Any) -> tuple[list[Any], None]:
        x, y = batch
        logits, _ = self.model.stateless_call(*weights, x, training=False)
        return self._count(counted, _models.losses(y, logits), y, logits), None

    def _count(self, counted: list[Any], losses: Any, y: Any, logits: Any) -> list[Any]:
        mean, accuracy = self._split(counted)
        mean = self.loss.stateless_update_state(mean, losses)
        accuracy = self.accuracy.stateless_update_state(accuracy, y, logits)
        return [*mean, *accuracy]

    def _predict(self, weights: Any, x: Any) -> Any:
        def predicted(_: None, part: Any) -> tuple[None, Any]:
            return None, self.model.stateless_call(*weights, part, training=False)[0]

        return predicted(None, x)[1] if self.steps == 1 else jax.lax.scan(predicted, None, x)[1]

    def _metric_variables(self) -> list[keras.Variable]:
        return [*self.loss.variables, *self.accuracy.variables]

    def _split(self, values: list[Any]) -> tuple[list[Any], list[Any]]:
        count = len(self.loss.variables)
        return values[:count], values[count:]

    def _dispatch(self, state: Any, x: Any, y: Any) -> tuple[Any, Any]:
        *weights, metrics = state
        carry = (tuple(weights), [jnp.zeros_like(value) for value in metrics])
        if self.steps == 1:
            (new, counted), loss = self._step(carry, (x, y))
        else:
            (new, counted), losses = jax.lax.scan(self._step, carry, (x, y))
            loss = losses[-1]
        if self.num_replicas > 1:
            counted = jax.lax.psum(counted, _AXIS)
        return (*new, [old + more for old, more in zip(metrics, counted, strict=True)]), loss

    def _step(self, carry: Any, batch: Any) -> tuple[Any, Any]:
        (trainable, rest, slots), counted = carry
        x, y = batch

        def loss_fn(values: Any) -> tuple[Any, Any]:
            logits, new_rest = self.model.stateless_call(values, rest, x, training=True)
            losses = _models.losses(y, logits)
            return jnp.sum(losses) / _models.BATCH, (losses, logits, new_rest)

        (loss, (losses, logits, rest)), gradients = jax.value_and_grad(loss_fn, has_aux=True)(trainable)
        if self.num_replicas > 1:
            gradients, loss = jax.lax.psum((gradients, loss), _AXIS)
        trainable, slots = self.optimizer.stateless_apply(slots, gradients, trainable)
        if not self._counts:
            return ((trainable, rest, slots), counted), loss
        return ((trainable, rest, slots), self._count(counted, losses, y, logits)), loss
