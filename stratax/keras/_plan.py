"""The line that says how a training run is divided, before it starts (keras layer)."""

from typing import TYPE_CHECKING

from stratax.distribute import Strategy

if TYPE_CHECKING:
    from stratax.keras._epochs import StepAdapter


def describe(
    strategy: Strategy, steps: "StepAdapter", steps_per_epoch: int | None, steps_per_execution: int
) -> str:
    """One line: replicas, global and per-replica batch, steps per epoch and the remainder of a batch.

    Example of a line: `MirroredStrategy: 8 replicas, global batch 200 = 8 x 25, 7 steps per epoch, 50 steps per
    dispatch`.
    """
    replicas = len(strategy.devices)
    batch = steps.global_batch_size()
    parts = [f"{replicas} replicas", f"global batch {_divided(batch, replicas)}"]
    total = steps_per_epoch or steps.num_batches
    parts.append("steps per epoch unknown" if total is None else f"{total} steps per epoch")
    last = steps.last_batch_size()
    if last and last != batch:
        parts.append(f"last batch {_divided(last, replicas)}")
    if steps_per_execution > 1:
        parts.append(f"{steps_per_execution} steps per dispatch")
    return f"{type(strategy).__name__}: {', '.join(parts)}"


def _divided(batch: int, replicas: int) -> str:
    if batch % replicas:
        return f"{batch} (does not divide: computed whole on every replica, counted once)"
    return f"{batch} = {replicas} x {batch // replicas}"
