"""`tf.contrib.opt.MovingAverageOptimizer`: another optimizer, with averages of what it trains (v1 layer)."""

from typing import Any

import keras

from stratax import errors
from stratax.base.typing import TensorLike
from stratax.tensorflow.v1._averages import ExponentialMovingAverage
from stratax.tensorflow.v1._collections import global_variables
from stratax.tensorflow.v1._operations import control_dependencies, group
from stratax.tensorflow.v1._optimizer import GradsAndVars, Optimizer
from stratax.tensorflow.v1._saver import Saver, Variables, by_name


class MovingAverageOptimizer(Optimizer):
    """Keeps moving averages of what another optimizer trains, as `tf.contrib.opt.MovingAverageOptimizer`.

    Args:
        opt: The other optimizer.
        average_decay: The decay of the averages.
        num_updates: How many updates there were, which makes the decay smaller at first; None for a constant one.
        sequential_update: Ignored: averages are updated behind the variables.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: TensorLike = 0.9999,
        num_updates: TensorLike | None = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(use_locking=False, name="MovingAverageOptimizer")
        self._optimizer = opt
        self._average = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        # By name, what a swapping Saver takes instead; None before there are averages.
        self._swapped: dict[str, keras.Variable] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, keras.Variable]]:
        """Return what the other optimizer's method gives."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: keras.Variable | None = None, name: str | None = None
    ) -> Any:
        """Return the operation that makes the other optimizer's step, and then updates the averages.

        Args:
            grads_and_vars: Pairs of gradient and variable.
            global_step: A variable that the operation counts up; None for none.
            name: The operation's name.
        """
        pairs = list(grads_and_vars)
        trained = self._optimizer.apply_gradients(pairs, global_step, name)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        if trained is None:
            self._average.apply(variables)
            return None
        # Averages are of what the step makes of the variables.
        with control_dependencies([trained]):
            averaged = self._average.apply(variables)
        self._swapped = {}
        for variable in variables:
            average = self._average.average(variable)
            # Both ways: by either name a checkpoint gets the other's value.
            if average is not None:
                self._swapped |= {variable.path: average, average.path: variable}
        return group(trained, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Variables | None = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a Saver that saves averages by the names of their variables, and these by the averages' names.

        Args:
            var_list: The variables; by default all there are by now.
            name: Ignored.
            **kwargs: The Saver's own arguments.

        Raises:
            ModelScopeError: Before there are averages.
            BadArgumentError: If a variable is saved without its average.
        """
        if self._swapped is None:
            raise errors.ModelScopeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        given = by_name(global_variables() if var_list is None else var_list)
        saved = {id(variable) for variable in given.values()}
        # By the name of a variable its average, and the other way round.
        chosen = {key: self._swapped.get(key, variable) for key, variable in given.items()}
        for variable in chosen.values():
            if id(variable) not in saved:
                raise errors.BadArgumentError(
                    f"Variable to swap {variable.path} is not part of variables to save. This breaks "
                    "MovingAverageOptimizer."
                )
        return Saver(chosen, name=name, **kwargs)
