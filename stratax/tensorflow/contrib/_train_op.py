"""`tf.contrib.training.create_train_op` and slim's: the operation of a step of training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stratax.tensorflow import v1
from stratax.tensorflow.contrib._optimize_loss import (
    add_gradients_summaries,
    clip_gradient_norms,
    multiply_gradients,
)
from stratax.tensorflow.ops.arrays.arrays import identity
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.ops.control.assertions import check_numerics as check_numbers

_Pairs = list[tuple[Any, Any]]
# Stands for the model's global step, as None is for none.
_USE_GLOBAL_STEP = 0


def create_train_op(
    total_loss: object,
    optimizer: Any,
    global_step: object = _USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    transform_grads_fn: Callable[[_Pairs], _Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: object = None,
    aggregation_method: object = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Any:
    """Return the loss, which trains when it is computed, as `tf.contrib.training.create_train_op`.

    Args:
        total_loss: A scalar.
        optimizer: An optimizer of `tf.train`.
        global_step: The variable that counts steps; by default the model's, None for none.
        update_ops: What runs before; by default the collection ``"update_ops"``.
        variables_to_train: By default all trainable ones.
        transform_grads_fn: A function of pairs of gradient and variable.
        summarize_gradients: Whether gradients are summarized.
        gate_gradients: Ignored.
        aggregation_method: Ignored.
        colocate_gradients_with_ops: Ignored.
        check_numerics: Whether a loss that is infinite or not a number raises.
    """
    step = v1.train.get_or_create_global_step() if isinstance(global_step, int) else global_step
    with v1.control_dependencies(v1.get_collection("update_ops") if update_ops is None else list(update_ops)):
        loss = identity(on_device(total_loss))
    chosen = v1.trainable_variables() if variables_to_train is None else variables_to_train
    pairs = optimizer.compute_gradients(loss, chosen)
    if transform_grads_fn is not None:
        pairs = transform_grads_fn(pairs)
    if summarize_gradients:
        add_gradients_summaries(pairs)
    trained = optimizer.apply_gradients(pairs, step)
    if check_numerics:
        loss = check_numbers(loss, "LossTensor is inf or nan")
    with v1.control_dependencies([trained]):
        made = identity(loss)
    # TensorFlow's own `train_op` is found here, too.
    operations = v1.get_collection_ref("train_op")
    if not any(each is made for each in operations):
        operations.append(made)
    return made


def create_slim_train_op(
    total_loss: object,
    optimizer: object,
    global_step: object = _USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: object = None,
    aggregation_method: object = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Any:
    """Return the loss, which trains when it is computed, as `slim.learning.create_train_op`.

    Args:
        total_loss: As in `create_train_op`.
        optimizer: Likewise.
        global_step: Likewise.
        update_ops: Likewise.
        variables_to_train: Likewise.
        clip_gradient_norm: The largest norm of each gradient; 0 for any.
        summarize_gradients: As in `create_train_op`.
        gate_gradients: Ignored.
        aggregation_method: Ignored.
        colocate_gradients_with_ops: Ignored.
        gradient_multipliers: Factors, by variables or their names.
        check_numerics: As in `create_train_op`.
    """

    def transform(pairs: _Pairs) -> _Pairs:
        if gradient_multipliers:
            pairs = multiply_gradients(pairs, gradient_multipliers)
        return clip_gradient_norms(pairs, clip_gradient_norm) if clip_gradient_norm > 0 else pairs

    return create_train_op(
        total_loss,
        optimizer,
        global_step,
        update_ops,
        variables_to_train,
        transform,
        summarize_gradients,
        check_numerics=check_numerics,
    )
