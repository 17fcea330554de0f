"""`tf.compat.v1.train.SyncReplicasOptimizer`, whose hook is one of the Estimator's (estimator layer)."""

from collections.abc import Iterable
from typing import Any

import keras

from stratax.errors import BadArgumentError
from stratax.tensorflow.estimator.hooks import SessionRunHook
from stratax.tensorflow.v1 import Operation, control_dependencies, group
from stratax.tensorflow.v1.train import ExponentialMovingAverage, Optimizer


class SyncReplicasOptimizer(Optimizer):
    """Another optimizer, whose gradients are combined over replicas, as `tf.compat.v1.train.SyncReplicasOptimizer`.

    The strategy combines gradients for every optimizer, and all replicas take part in each step: the numbers of
    replicas have no meaning here.

    Args:
        opt: The other optimizer.
        replicas_to_aggregate: Ignored.
        total_num_replicas: Ignored.
        variable_averages: Averages of variables, which are updated behind each step; None for none.
        variables_to_average: Of which variables.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, keras.Variable]]:
        """Return the other optimizer's gradients."""
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, keras.Variable]],
        global_step: keras.Variable | None = None,
        name: str | None = None,
    ) -> Operation:
        """Return the operation that applies gradients, and then updates the averages.

        Args:
            grads_and_vars: Pairs of gradient and variable.
            global_step: The variable that counts steps.
            name: The operation's name.

        Raises:
            BadArgumentError: If there is no gradient, or no global step.
        """
        if global_step is None:
            raise BadArgumentError(
                "Global step is required to check staleness. Expected: tf.compat.v1.train.get_global_step()."
            )
        applied = self._opt.apply_gradients(grads_and_vars, global_step, name)
        if self._variable_averages is None:
            return applied
        with control_dependencies([applied]):
            return group(applied, self._variable_averages.apply(self._variables_to_average))

    def get_slot(self, var: keras.Variable, name: str) -> keras.Variable | None:
        """Return a variable that the other optimizer keeps for another one, or None."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of the other optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[keras.Variable]:
        """Return the other optimizer's variables."""
        return self._opt.variables()

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return the hook that programs pass to `train`; it has nothing to do.

        Args:
            is_chief: Ignored.
            num_tokens: Ignored.
        """
        # Replicas need no tokens to wait for one another.
        return SessionRunHook()
