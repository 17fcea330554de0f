"""Gradient accumulation that equals one larger batch (distribute layer).

Keras averages the gradients of `gradient_accumulation_steps` batches, whatever their sizes, and never applies those of
an unfinished window. Here each batch counts with its number of examples (of unmasked entries, or with the sum of its
weights, where the loss is a mean over those), gradients are clipped and schedules advanced once per update, and
:func:`flush` applies what is left at the end.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import keras

from stratax.base.surroundings import Slot, Surroundings

_NAME = "accumulated_examples"


_EXAMPLES: Slot[Any] = Slot("examples behind gradients", 1.0)
_LOSSES: Slot["LossWeights | None"] = Slot("weights of losses", None)


class LossWeights:
    """What the means divide by that losses computed in a block are: the weight that each has in a larger batch."""

    def __init__(self) -> None:
        self._masked: Any = None
        self._losses: list[Any] = []

    def add_mask(self, valid: object) -> None:
        """Note that the loss that is computed now is a mean over `valid` entries."""
        self._masked = valid

    def add_loss(self, weight: object) -> None:
        """Note that a loss was computed: its weight, or None for that of its mask or its number of examples."""
        # Keras applies the mask first and reduces next, so the mask noted last is this loss's.
        self._losses.append(self._masked if weight is None else weight)
        self._masked = None

    def only(self) -> list[Any]:
        """Return the weight of the loss, if there is one loss and it is not just its number of examples; or nothing."""
        return self._losses if len(self._losses) == 1 and self._losses[0] is not None else []


@contextlib.contextmanager
def observing() -> Iterator[LossWeights]:
    """Learn of the losses that are computed in a block."""
    losses = LossWeights()
    with _LOSSES.holding(losses):
        yield losses


def find_observed() -> LossWeights | None:
    """Return what learns of losses now, if anything does."""
    return _LOSSES.get()


def examples() -> Any:
    """Return the number of examples behind the gradients that are applied now: a number or a scalar array."""
    return _EXAMPLES.get()


def weighing(examples: object) -> Surroundings:
    """Say of how many examples the gradients are that are applied in a block."""
    return _EXAMPLES.holding(jnp.asarray(examples, "float32"))


def apply(optimizer: Any, original: Callable[..., None], grads: Sequence[Any], variables: Any) -> None:
    """Add gradients to the window that is open; update the variables where they complete it.

    Args:
        optimizer: A Keras optimizer with `gradient_accumulation_steps`.
        original: Keras' own `apply`.
        grads: The gradients, the same on every replica.
        variables: The variables, or None for those that the optimizer was built with.
    """
    # It may be an iterator, and is used several times.
    targets = list(variables) if variables is not None else list(optimizer._trainable_variables)
    if not optimizer.built:
        with keras.name_scope(optimizer.name):
            optimizer.build(targets)
    total = _examples(optimizer)
    window = optimizer.gradient_accumulation_steps
    step = optimizer._iterations.value
    complete = (step + 1) % window == 0
    sums = [_sum(optimizer, target) for target in targets]
    # Weighted by examples: batches of a window may differ in size.
    added = [
        None if grad is None else slot.value + jnp.asarray(grad, slot.dtype) * _EXAMPLES.get()
        for slot, grad in zip(sums, grads, strict=True)
    ]
    count = total.value + _EXAMPLES.get()
    _update(
        optimizer, original, targets, [None if a is None else a / _divisor(count) for a in added], complete
    )
    for slot, value in zip(sums, added, strict=True):
        if value is not None:
            # The window that is complete begins anew; which one that is, is known only on the device.
            slot.assign(jnp.where(complete, jnp.zeros_like(value), value))
    total.assign(jnp.where(complete, 0.0, count))
    optimizer._iterations.assign(step + 1)


def prepare(optimizer: keras.optimizers.Optimizer) -> None:
    """Create what a window of gradients needs beside the optimizer's own variables, so that it can be restored.

    Keras loads an optimizer's variables only where they are as many as the saved ones.

    Args:
        optimizer: A Keras optimizer that is built.
    """
    if optimizer.gradient_accumulation_steps:
        _examples(optimizer)


def flush(optimizer: keras.optimizers.Optimizer, original: Callable[..., None]) -> None:
    """Update the variables with the gradients of a window that is not complete, if there are any."""
    window = optimizer.gradient_accumulation_steps
    total = _examples(optimizer)
    targets = list(optimizer._trainable_variables)
    step = optimizer._iterations.value
    sums = [_sum(optimizer, target) for target in targets]
    count = _divisor(total.value)
    _update(optimizer, original, targets, [slot.value / count for slot in sums], total.value > 0)
    for slot in sums:
        slot.assign(jnp.zeros_like(slot.value))
    total.assign(jnp.zeros_like(total.value))
    # The next window begins with the next batch.
    # Rounded up to whole windows, so that updates are counted as if it had been complete.
    optimizer._iterations.assign(-(-step // window) * window)


def _divisor(count: Any) -> Any:
    """Return a window's weight, or 1 where it is empty: masked throughout."""
    return jnp.where(count > 0, count, 1.0)


def _update(
    optimizer: keras.optimizers.Optimizer,
    original: Callable[..., None],
    targets: list[Any],
    grads: list[Any],
    wanted: Any,
) -> None:
    """Apply gradients where `wanted`: both values are computed and one is kept, as in Keras on JAX."""
    window = optimizer.gradient_accumulation_steps
    # All but the counter: what the update changes is put back where it is not wanted.
    kept = [*targets, *(v for v in optimizer.variables if v is not optimizer._iterations)]
    before = [variable.value for variable in kept]
    # The optimizer must count updates, not batches, and must not accumulate by itself.
    optimizer._iterations.assign(optimizer._iterations.value // window)
    optimizer.gradient_accumulation_steps = None
    try:
        original(optimizer, grads, targets)
    finally:
        optimizer.gradient_accumulation_steps = window
    for variable, old in zip(kept, before, strict=True):
        variable.assign(jnp.where(wanted, variable.value, old))


def _sum(optimizer: keras.optimizers.Optimizer, target: object) -> Any:
    return optimizer._accumulated_gradients[optimizer._get_variable_index(target)]


def _examples(optimizer: keras.optimizers.Optimizer) -> Any:
    """Return the optimizer's variable with the number of examples in the window; it is saved with the optimizer."""
    for variable in optimizer.variables:
        # In a `model_fn` the name is a whole path, with a number behind it for a second optimizer.
        if variable.path.rpartition("/")[2].startswith(_NAME):
            return variable
    return optimizer.add_variable(shape=(), dtype="float32", initializer="zeros", name=_NAME)
