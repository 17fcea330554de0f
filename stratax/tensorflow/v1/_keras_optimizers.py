"""Keras' optimizers in a `model_fn`: applying gradients is an operation, a learning rate may be computed (v1 layer)."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import keras

from stratax.seams import keras as seam
from stratax.tensorflow.v1._current import current_or_none
from stratax.tensorflow.v1._operation import operations_of
from stratax.tensorflow.v1._optimizer import keep_others, of_all_replicas

# Private in Keras: the class below all of its optimizers.
_OPTIMIZER = "keras.src.optimizers.base_optimizer:BaseOptimizer"


def install() -> None:
    """Put the hook in place; a second call changes nothing."""
    seam.install(
        "stratax.tensorflow.v1",
        {f"{_OPTIMIZER}.__init__": _init, f"{_OPTIMIZER}.apply_gradients": _apply_gradients},
    )


def _init(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: object, learning_rate: object, *args: object, **kwargs: object) -> None:
        give_rate = learning_rate
        if current_or_none() is not None and isinstance(give_rate, jax.Array | keras.Variable):
            # The rate of this step, as `tf.compat.v1.train.exponential_decay` gives it. Keras 3 wants a function.
            def give_rate() -> Any:
                return learning_rate

        original(self, give_rate, *args, **kwargs)

    return __init__


# Those of Keras 2's optimizers that change, of a matrix whose rows are looked up, no other rows; with the slots of
# which other rows stay, too. SGD and RMSprop are such with a momentum.
_BY_ROW = {
    "SGD": ("momentums",),
    "RMSprop": ("_velocities", "_momentums", "_average_gradients"),
    "Adadelta": ("_accumulated_grads", "_accumulated_delta_vars"),
    "Adamax": ("_m", "_u"),
    "Nadam": (),
}


def _find_kept(optimizer: Any, variables: list[Any], rows: list[Any]) -> list[tuple[Any, Any, Any]]:
    """Return what an optimizer changes by rows alone: variables and slots, the rows' mask, and the values before."""
    kind = next((name for name in _BY_ROW if isinstance(optimizer, getattr(keras.optimizers, name))), None)
    if kind is None or (kind in ("SGD", "RMSprop") and not optimizer.momentum):
        return []
    found = []
    for variable, mask in zip(variables, of_all_replicas(rows), strict=True):
        place = optimizer._get_variable_index(variable)
        slots = [
            slots[place] for slots in (getattr(optimizer, name, None) for name in _BY_ROW[kind]) if slots
        ]
        found += [(each, mask, each.value) for each in (variable, *slots) if mask is not None]
    return found


def _apply_gradients(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def apply_gradients(self: Any, grads_and_vars: Any, *options: object, **named: object) -> Any:
        scope = current_or_none()
        # When an operation runs, or in a branch or loop, it takes effect at once.
        if scope is None or scope.is_running:
            return original(self, grads_and_vars, *options, **named)
        pairs = list(grads_and_vars)
        if not self.built:
            # Here, where names are those of the program, and not where the operation runs.
            self.build([variable for _, variable in pairs])
            self.built = True
        rows = [scope.derivatives.rows_of(gradient) for gradient, _ in pairs]

        def update() -> Any:
            kept = _find_kept(self, [variable for _, variable in pairs], rows)
            result = original(self, pairs, *options, **named)
            for target, mask, before in kept:
                keras.Variable.assign(target, keep_others(mask, target.value, before))
            return result

        operation = scope.operation(
            update,
            name=self.name,
            inputs=operations_of([gradient for gradient, _ in pairs]),
        )
        scope.collections.add("train_op", operation)
        return operation

    return apply_gradients
