"""TensorFlow 1's optimizers in Keras' `compile` (v1 layer)."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from stratax.base.typing import TensorLike
from stratax.seams.keras2 import take_rate


class KerasForm(keras.optimizers.Optimizer):
    """An optimizer of TensorFlow 1 as Keras takes one: the same arithmetic, with Keras' own variables.

    Args:
        rule: The arithmetic of one variable; see `_rules.py`.
        numbers: What it takes beside the variable. Functions are called in each step.
        slots: The slots of each variable, with their first values.
        powers: Of which numbers it takes the power of the step's number, as `NAME_power`.
        name: The optimizer's name.
    """

    is_of_the_first = True

    def __init__(
        self,
        rule: object,
        numbers: dict[str, Any],
        slots: dict[str, float],
        powers: dict[str, Any],
        name: str,
    ) -> None:
        rate = numbers.get("learning_rate", 0.001)
        is_variable = isinstance(rate, keras.Variable)
        # A number, or a function that Keras calls at each step.
        given = rate if callable(rate) else 0.0 if is_variable else float(ops.convert_to_numpy(rate))
        super().__init__(learning_rate=given, name=name)
        if is_variable:
            # The program's own, which it may assign to between steps.
            take_rate(self, rate)
        # Past Keras' own bookkeeping, which would take them for the optimizer's state.
        self.__dict__.update(_rule=rule, _numbers=numbers, _kinds=slots, _powers=powers, _slots={})

    def copy(self) -> "KerasForm":
        """Return one that begins anew."""
        return KerasForm(self._rule, self._numbers, self._kinds, self._powers, self.name)

    def build(self, variables: Sequence[keras.Variable]) -> None:
        """Make the slots of variables.

        Args:
            variables: The variables that are trained.
        """
        if self.built:
            return
        super().build(variables)
        for variable in variables:
            self._slots[id(variable)] = {
                slot: self.add_variable_from_reference(variable, slot, keras.initializers.Constant(first))
                for slot, first in self._kinds.items()
            }

    def update_step(self, gradient: TensorLike, variable: keras.Variable, learning_rate: TensorLike) -> None:
        """Change a variable and its slots by the gradient of the loss.

        Args:
            gradient: The gradient, of the variable's shape.
            variable: The variable.
            learning_rate: The step's rate.
        """
        dtype = variable.dtype
        numbers = {
            # TensorFlow takes functions without arguments for numbers.
            key: ops.cast(number() if callable(number) else number, dtype)
            for key, number in self._numbers.items()
        }
        if "learning_rate" in numbers:
            # Keras' own, which callbacks and schedules may have changed.
            numbers["learning_rate"] = ops.cast(learning_rate, dtype)
        # TensorFlow keeps powers of betas in variables; here they follow from the number of steps.
        step = ops.cast(self.iterations + 1, dtype)
        numbers |= {f"{key}_power": ops.power(numbers[key], step) for key in self._powers}
        slots = self._slots[id(variable)]
        value, changed = self._rule(
            variable.value,
            {name: slot.value for name, slot in slots.items()},
            ops.cast(gradient, dtype),
            numbers,
        )
        self.assign(variable, value)
        for name, slot in slots.items():
            self.assign(slot, changed[name])

    def get_config(self) -> dict[str, Any]:
        """Refused, as in TensorFlow: such an optimizer is not saved with a model.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            f"An optimizer of TensorFlow 1 ({self.name}) can't be saved with a model. Take one of tf.keras.optimizers."
        )
