"""The operation of a training step: gradients, the optimizer's update, and what else is run (estimator layer)."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.core import regions
from stratax.seams import keras as seam
from stratax.tensorflow import v1


def train_op(
    loss: object,
    optimizer: object,
    train_op_fn: Callable[[Any], Any] | None = None,
    variables: Sequence[Any] | None = None,
    update_ops: Sequence[Any] | None = None,
) -> Any:
    """Return the operation of a step.

    Args:
        loss: The loss.
        optimizer: An optimizer of Keras or of TensorFlow 1; it counts the global step, too.
        train_op_fn: A function of the loss that returns the operation, in place of `optimizer`.
        variables: What the optimizer trains; by default all that the `model_fn` trains.
        update_ops: Operations that are run besides.

    Raises:
        BadArgumentError: If there is neither `optimizer` nor `train_op_fn`, or both.
        BadTypeError: If an argument has the wrong type.
    """
    if (optimizer is None) == (train_op_fn is None):
        both = "cannot both be None" if optimizer is None else "cannot both be set"
        raise errors.BadArgumentError(
            f"train_op_fn and optimizer {both}. Expected: one of them, for training. Received: "
            f"optimizer={shown(optimizer)}, train_op_fn={shown(train_op_fn)}."
        )
    for name, value in (("update_ops", update_ops), ("trainable_variables", variables)):
        if value is not None and not isinstance(value, list | tuple):
            raise errors.BadTypeError(f"{name} should be a list or a tuple. Received: {name}={shown(value)}.")
    operation = minimize(optimizer, loss, variables) if train_op_fn is None else train_op_fn(loss)
    return operation if update_ops is None else v1.group(operation, *update_ops)


def minimize(
    optimizer: object, loss: object, variables: Sequence[Any] | None = None, *, counts: bool = True
) -> v1.Operation:
    """Return the operation by which an optimizer makes a step.

    Args:
        optimizer: An optimizer of Keras or of TensorFlow 1.
        loss: The loss.
        variables: What it trains; by default all that the `model_fn` trains.
        counts: Whether the operation counts the global step, too.

    Raises:
        BadTypeError: If it is no optimizer.
    """
    scope = v1.current()
    wanted = scope.trainable_variables() if variables is None else list(variables)
    if isinstance(optimizer, v1.train.Optimizer):
        step = scope.global_step() if counts else None
        return optimizer.minimize(loss, global_step=step, var_list=wanted)
    if not isinstance(optimizer, keras.optimizers.Optimizer):
        raise errors.BadTypeError(
            "The given optimizer is not an optimizer of tf.keras.optimizers or tf.compat.v1.train. Received: "
            f"optimizer={shown(optimizer)} ({type(optimizer).__name__})."
        )
    if hasattr(optimizer, "get_updates"):
        # A program's own, by the rules of Keras 2, which says itself what a step is.
        own: Any = of_this_trace(optimizer)
        if counts:
            # As in TensorFlow: the step that it counts is the model's.
            own.iterations = scope.global_step()
        return v1.group(*own.get_updates(loss, wanted))
    pairs = zip(scope.derivatives.gradients(loss, wanted), wanted, strict=True)
    present = [pair for pair in pairs if pair[0] is not None]
    operation = of_this_trace(optimizer).apply_gradients(present)
    return v1.group(operation, scope.global_step().assign_add(1)) if counts else operation


def of_this_trace(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """Return an optimizer whose variables are the model's: the given one, or a new one like it if it is older."""
    known = {id(variable) for variable in v1.current().global_variables()}
    if all(id(variable) in known for variable in optimizer.variables):
        return optimizer
    with regions.outside_scopes():
        # Its own variables are no model's: what they are now is a number.
        config = optimizer.get_config()
    own = seam.to_snake_case(type(optimizer).__name__)
    if re.fullmatch(rf"{own}(_\d+)?", config["name"]):
        # Counted by Keras over the whole program: in a checkpoint it is counted over the model.
        del config["name"]
    return type(optimizer).from_config(config)


def add_updates(operation: object) -> Any:
    """Return an operation together with the update operations of the `model_fn`, such as batch normalization's."""
    updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
    return v1.group(operation, *updates) if updates else operation
