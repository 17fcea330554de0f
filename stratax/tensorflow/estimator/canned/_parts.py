"""The `model_fn` of canned estimators: parts whose logits are added up, and a head (estimator layer)."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from stratax import errors
from stratax.base.shown import shown
from stratax.tensorflow import v1
from stratax.tensorflow.estimator._spec import EstimatorSpec
from stratax.tensorflow.estimator._sync_replicas import SyncReplicasOptimizer
from stratax.tensorflow.estimator.canned import _optimizers
from stratax.tensorflow.estimator.heads import Head, minimize
from stratax.tensorflow.feature_column import FeatureColumn

ModelFunction = Callable[..., EstimatorSpec]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """One of the models whose logits are added up.

    Attributes:
        name: The variable scope of its variables.
        logits: Computes logits of the features, the mode, and how many they are.
        optimizer: What trains it: a name, an optimizer, or a function that makes one.
        learning_rate: The learning rate of an optimizer that is named; None for its own.
        slot_infix: What stands between a variable's and a slot's name in checkpoints of TensorFlow 1.
        is_outside: Whether the head's names are not below the part's, as TensorFlow 1 has it.
    """

    name: str
    logits: Callable[[Any, str, int], Any]
    optimizer: Any
    learning_rate: float | None
    slot_infix: str | None = None
    is_outside: bool = False

    def slot_path(self, path: str, slot: str, called: str) -> str:
        """Return the full name of a slot in a checkpoint of TensorFlow 1."""
        del slot
        return f"{path}/{self.slot_infix}/{called}" if self.slot_infix else f"{path}/{called}"

    def variables(self) -> list[Any]:
        """Return its trained variables."""
        return v1.get_collection(v1.GraphKeys.TRAINABLE_VARIABLES, f"{self.name}/")


def model_fn_of(head: Head, parts: Sequence[ModelPart], *, is_first: bool) -> ModelFunction:
    """Return the `model_fn` of parts and a head.

    Args:
        head: The head.
        parts: The parts, at least one.
        is_first: Whether it is a model of TensorFlow 1, by its names and optimizers.

    Raises:
        BadTypeError: If the head is none, or an optimizer.
        BadArgumentError: If an optimizer can't be.
    """
    if not isinstance(head, Head):
        raise errors.BadTypeError(
            f"head must be a head, such as tf.estimator.BinaryClassHead(). Received: head={shown(head)}."
        )
    for part in parts:
        _optimizers.check(part.optimizer)
        if len(parts) > 1 and isinstance(part.optimizer, SyncReplicasOptimizer):
            raise errors.BadArgumentError(
                "SyncReplicasOptimizer does not support several optimizers. Received: optimizer="
                f"{shown(part.optimizer)} for {part.name}. Pass the optimizer that it wraps: replicas are "
                "synchronous here."
            )

    def model_fn(features: object, labels: object, mode: str, config: object) -> EstimatorSpec:
        del config
        with contextlib.ExitStack() as stack:
            logits = []
            for part in parts:
                with v1.variable_scope(part.name) as scope, _names_of_summaries(is_first):
                    logits.append(part.logits(features, mode, head.logits_dimension))
            if is_first and len(parts) == 1 and not parts[0].is_outside:
                stack.enter_context(v1.variable_scope(scope))
            return head.create_estimator_spec(
                features,
                mode,
                logits=sum(logits[1:], logits[0]),
                labels=labels,
                train_op_fn=lambda loss: _train_op(loss, parts, is_first=is_first),
            )

    return model_fn


def _names_of_summaries(is_first: bool) -> contextlib.AbstractContextManager[Any]:
    """Return what has summaries be named from the root, as TensorFlow 2's models have them."""
    return contextlib.nullcontext() if is_first else v1.name_scope("")


def _train_op(loss: object, parts: Sequence[ModelPart], *, is_first: bool) -> Any:
    operations = []
    for part in parts:
        optimizer, slot_path = _optimizers.make(
            part.optimizer, part.learning_rate, part.slot_path, is_first=is_first
        )
        with _optimizers.naming_slots(slot_path):
            operations.append(minimize(optimizer, loss, part.variables(), counts=len(parts) == 1))
    if len(parts) == 1:
        return operations[0]
    return v1.group(*operations, v1.current().global_step().assign_add(1))


def check_features(features: object) -> Mapping[str, Any]:
    """Return features that are a dictionary.

    Raises:
        BadTypeError: They are something else.
    """
    if not isinstance(features, Mapping):
        raise errors.BadTypeError(
            f"features should be a dictionary of tensors by name. Received: features={shown(features)}. Return "
            "{name: tensor} in the input_fn."
        )
    return features


def check_columns(name: str, columns: Any) -> tuple[Any, ...]:
    """Return feature columns as a tuple.

    Raises:
        BadArgumentError: There is none.
    """
    found = (columns,) if isinstance(columns, FeatureColumn) else tuple(columns or ())
    if not found:
        raise errors.BadArgumentError(
            f"{name} must have at least one column. Received: {name}={shown(columns)}. Pass columns of "
            "tf.feature_column."
        )
    return found


def write_activity(value: Any, tag: str) -> None:
    """Write how many values of a layer are zero, and how they are distributed."""
    v1.summary.scalar(f"{tag}/fraction_of_zero_values", jnp.mean((value == 0).astype(jnp.float32)))
    v1.summary.histogram(f"{tag}/activation", value)
