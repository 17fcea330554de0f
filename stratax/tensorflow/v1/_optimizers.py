"""TensorFlow 1's optimizers: their arguments, defaults and slots; the arithmetic is in `_rules.py` (v1 layer)."""

from typing import Any

import keras

from stratax.base.shown import shown
from stratax.errors import BadArgumentError
from stratax.tensorflow.v1 import _rules
from stratax.tensorflow.v1._optimizer import Number, Optimizer


class GradientDescentOptimizer(Optimizer):
    """Steps against the gradient, as `tf.compat.v1.train.GradientDescentOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self, learning_rate: Number, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._set_rule(_rules.gradient_descent, {"learning_rate": learning_rate})


class MomentumOptimizer(Optimizer):
    """Steps against a decaying sum of gradients, as `tf.compat.v1.train.MomentumOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        momentum: By how much the sum decays, likewise.
        use_locking: Ignored.
        name: The optimizer's name.
        use_nesterov: Whether the step looks ahead (Sutskever et al., 2013).
    """

    def __init__(
        self,
        learning_rate: Number,
        momentum: Number,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        rule = _rules.nesterov_momentum if use_nesterov else _rules.momentum
        numbers = {"learning_rate": learning_rate, "momentum": momentum}
        # Rows that are not looked up would go on by their momentum.
        self._set_rule(rule, numbers, {"momentum": 0.0}, is_by_row=True)


class AdamOptimizer(Optimizer):
    """Adam (Kingma & Ba, 2014), as `tf.compat.v1.train.AdamOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        beta1: The decay of the first moment, likewise.
        beta2: The decay of the second moment, likewise.
        epsilon: "epsilon hat" of the paper, likewise: it is added to the root before the correction of the bias.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        numbers = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        # Not by row: in TensorFlow's Adam moments decay, and move variables, in all rows.
        self._set_rule(_rules.adam, numbers, {"m": 0.0, "v": 0.0}, powers={"beta1": beta1, "beta2": beta2})


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi et al., 2011), as `tf.compat.v1.train.AdagradOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        initial_accumulator_value: What the sums of squares start from, above 0.
        use_locking: Ignored.
        name: The optimizer's name.

    Raises:
        BadArgumentError: If the sums do not start above 0.
    """

    def __init__(
        self,
        learning_rate: Number,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        # The step divides by the sums' roots: rows whose gradients have all been 0 would become NaN.
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._set_rule(
            _rules.adagrad, {"learning_rate": learning_rate}, {"accumulator": initial_accumulator_value}
        )


class AdagradDAOptimizer(Optimizer):
    """Adagrad with dual averaging (Duchi et al., 2011), as `tf.compat.v1.train.AdagradDAOptimizer`.

    Args:
        learning_rate: A number, an array or a variable.
        global_step: The variable that counts steps.
        initial_gradient_squared_accumulator_value: What the sums of squares start from, above 0.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Ignored.
        name: The optimizer's name.

    Raises:
        BadArgumentError: If the sums do not start above 0.
    """

    def __init__(
        self,
        learning_rate: Number,
        global_step: keras.Variable,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        first = initial_gradient_squared_accumulator_value
        _check_positive("initial_gradient_squared_accumulator_value", first)
        super().__init__(use_locking, name)
        numbers = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            # TensorFlow counts the step that is being made.
            "global_step": lambda: keras.ops.add(global_step, 1),
        }
        slots = {"gradient_accumulator": 0.0, "gradient_squared_accumulator": first}
        self._set_rule(_rules.adagrad_da, numbers, slots, is_by_row=True)


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler, 2012), as `tf.compat.v1.train.AdadeltaOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one. The paper's is
            1.
        rho: The decay, likewise.
        epsilon: What is added to squares, likewise.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number = 0.001,
        rho: Number = 0.95,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        numbers = {"learning_rate": learning_rate, "rho": rho, "epsilon": epsilon}
        self._set_rule(_rules.adadelta, numbers, {"accum": 0.0, "accum_update": 0.0}, is_by_row=True)


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman & Hinton, 2012), as `tf.compat.v1.train.RMSPropOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        decay: The decay of the mean of squares, likewise.
        momentum: The decay of the sum of steps, likewise.
        epsilon: What is added to mean squares, likewise.
        use_locking: Ignored.
        centered: Whether the squared mean of gradients is subtracted (Graves, 2013).
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number,
        decay: Number = 0.9,
        momentum: Number = 0.0,
        epsilon: Number = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        numbers = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        # The order in which they are made decides which one is called RMSProp_1 in checkpoints.
        # TensorFlow 1's mean of squares begins at 1, Keras' at 0: first steps are smaller here.
        slots = {"rms": 1.0, **({"mg": 0.0} if centered else {}), "momentum": 0.0}
        self._set_rule(
            _rules.rms_prop_centered if centered else _rules.rms_prop, numbers, slots, is_by_row=True
        )


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader (McMahan et al., 2013), as `tf.compat.v1.train.FtrlOptimizer`.

    Args:
        learning_rate: A number, an array, a variable, or a function without arguments that gives one.
        learning_rate_power: To which power of the sum of squares the learning rate falls, at most 0.
        initial_accumulator_value: What the sums of squares start from, at least 0.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Ignored.
        name: The optimizer's name.
        accum_name: What the sums of squares are called in checkpoints; by default as the optimizer.
        linear_name: What the other sums are called in checkpoints; by default as the optimizer.
        l2_shrinkage_regularization_strength: At least 0; a penalty of magnitude that is independent of the sums.
        beta: The paper's beta; None for 0.

    Raises:
        BadArgumentError: If one of the numbers is out of its range.
    """

    def __init__(
        self,
        learning_rate: Number,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0:
            raise BadArgumentError(
                "learning_rate_power needs to be negative or zero. Received: "
                f"learning_rate_power={shown(learning_rate_power)}."
            )
        numbers: dict[str, Any] = {
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for key, number in {"initial_accumulator_value": initial_accumulator_value, **numbers}.items():
            if number < 0:
                raise BadArgumentError(
                    f"{key} needs to be positive or zero. Received: {key}={shown(number)}."
                )
        numbers |= {
            "learning_rate": learning_rate,
            "learning_rate_power": learning_rate_power,
            "beta": 0.0 if beta is None else beta,
        }
        # TensorFlow lets each slot have a name of its own in checkpoints.
        names = {"accum": accum_name or name, "linear": linear_name or name}
        slots = {"accum": initial_accumulator_value, "linear": 0.0}
        self._set_rule(_rules.ftrl, numbers, slots, slot_names=names, is_by_row=True)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with regularization after each step (Duchi & Singer, 2009), as TensorFlow's of that name.

    Args:
        learning_rate: A number, an array or a variable.
        initial_accumulator_value: What the sums of squares start from, above 0.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Ignored.
        name: The optimizer's name.

    Raises:
        BadArgumentError: If the sums do not start above 0.
    """

    def __init__(
        self,
        learning_rate: Number,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        _check_positive("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        numbers = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        self._set_rule(
            _rules.proximal_adagrad, numbers, {"accumulator": initial_accumulator_value}, is_by_row=True
        )


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with regularization after each step (Duchi & Singer, 2009), as TensorFlow's of that name.

    Args:
        learning_rate: A number, an array or a variable.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Ignored.
        name: The optimizer's name.
    """

    def __init__(
        self,
        learning_rate: Number,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        numbers = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        self._set_rule(_rules.proximal_gradient_descent, numbers, is_by_row=True)


def _check_positive(name: str, value: float) -> None:
    if value <= 0:
        raise BadArgumentError(f"{name} must be positive. Received: {name}={shown(value)}.")
