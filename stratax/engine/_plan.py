"""The line that says how a training run is divided, before it starts (engine layer)."""

from stratax.distribute import Strategy


def describe(
    strategy: Strategy,
    *,
    batch_size: int,
    last_batch_size: int | None,
    steps_per_epoch: int | None,
    steps_per_dispatch: int,
) -> str:
    """Describe in one line how a run is divided among replicas, steps and dispatches.

    Example of a line: `MirroredStrategy: 8 replicas, global batch 200 = 8 x 25, 7 steps per epoch, 50 steps per
    dispatch`.

    Args:
        strategy: The strategy.
        batch_size: The number of examples in a global batch.
        last_batch_size: That of an epoch's last batch; None where it is unknown or the same.
        steps_per_epoch: The number of steps of an epoch; None where it is unknown.
        steps_per_dispatch: How many steps one program runs.
    """
    replicas = strategy.num_replicas_in_sync
    parts = [f"{replicas} replicas", f"global batch {_describe_division(batch_size, replicas)}"]
    parts.append(
        "steps per epoch unknown" if steps_per_epoch is None else f"{steps_per_epoch} steps per epoch"
    )
    if last_batch_size and last_batch_size != batch_size:
        parts.append(f"last batch {_describe_division(last_batch_size, replicas)}")
    if steps_per_dispatch > 1:
        parts.append(f"{steps_per_dispatch} steps per dispatch")
    return f"{type(strategy).__name__}: {', '.join(parts)}"


def _describe_division(batch: int, replicas: int) -> str:
    if batch % replicas:
        return f"{batch} (does not divide: computed whole on every replica, counted once)"
    return f"{batch} = {replicas} x {batch // replicas}"
