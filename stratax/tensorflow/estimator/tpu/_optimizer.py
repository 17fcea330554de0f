"""`CrossShardOptimizer`: an optimizer whose gradients are combined over the cores (estimator layer)."""

from typing import Any

import keras

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import TensorLike
from stratax.distribute import ReduceOp, get_replica_context
from stratax.distribute.replicas import syncing_replicas
from stratax.tensorflow.v1 import current
from stratax.tensorflow.v1.train import Optimizer

_MEAN, _SUM = "weighted_mean", "weighted_sum"


class CrossShardOptimizer(Optimizer):
    """Combines gradients over the cores and hands them to another optimizer, as `tf.tpu.CrossShardOptimizer`.

    The gradients are their mean or sum over the cores. An optimizer that is not wrapped takes their mean here too;
    TensorFlow leaves each core with its own.

    Args:
        opt: The optimizer.
        reduction: `tf.losses.Reduction.MEAN` or `SUM`.
        name: Ignored: the slots have the wrapped optimizer's name.
        group_assignment: Must be None: all cores are one group.

    Raises:
        BadArgumentError: If `reduction` is another one, or `group_assignment` is given.
        BadTypeError: If `opt` is no optimizer of TensorFlow 1's kind.
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = _MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: object = None,
    ) -> None:
        if not isinstance(opt, Optimizer):
            raise errors.BadTypeError(
                "CrossShardOptimizer only works with tf.train.Optimizer. "
                f"Received: opt={shown(opt)}. A Keras optimizer needs no wrapping."
            )
        if reduction not in (_MEAN, _SUM):
            raise errors.BadArgumentError(
                f"Unsupported reduction. Expected: {shown(_MEAN)} or {shown(_SUM)}. "
                f"Received: reduction={shown(reduction)}."
            )
        if group_assignment is not None:
            raise errors.BadArgumentError(
                f"Groups of cores are not supported. Received: group_assignment={shown(group_assignment)}."
            )
        super().__init__(False, name)
        self._opt = opt
        self._reduction = reduction

    def compute_gradients(
        self,
        loss: object,
        var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: object = None,
    ) -> list[tuple[Any, Any]]:
        """Return pairs of gradients and variables; see `Optimizer.compute_gradients`."""
        found = self._opt.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss
        )
        replicas = syncing_replicas()
        if self._reduction == _MEAN or replicas is None:
            return found
        # The wrapped optimizer takes the mean.
        count = replicas.num_replicas_in_sync
        return [(None if gradient is None else gradient * count, variable) for gradient, variable in found]

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """Return the operation that applies gradients; see `Optimizer.apply_gradients`.

        Gradients of rows that are looked up become those of the whole matrix, as their sum over cores is in TensorFlow.
        """
        pairs = list(grads_and_vars)
        for gradient, _ in pairs:
            current().derivatives.note_whole(gradient)
        return self._opt.apply_gradients(pairs, global_step=global_step, name=name)

    def get_slot(self, var: keras.Variable, name: str) -> Any:
        """Return a slot of the wrapped optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of the wrapped optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[keras.Variable]:
        """Return the wrapped optimizer's variables."""
        return self._opt.variables()


def cross_replica_sum(x: TensorLike, group_assignment: object = None, name: str | None = None) -> Any:
    """Sum a tensor over the cores, as `tf.tpu.cross_replica_sum`.

    Args:
        x: The tensor.
        group_assignment: Must be None: all cores are one group.
        name: Ignored.

    Raises:
        BadArgumentError: If `group_assignment` is given.
    """
    if group_assignment is not None:
        raise errors.BadArgumentError(
            f"Groups of cores are not supported. Received: group_assignment={shown(group_assignment)}."
        )
    context = get_replica_context()
    return x if context is None else context.all_reduce(ReduceOp.SUM, x)
