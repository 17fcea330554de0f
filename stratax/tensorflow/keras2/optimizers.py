"""`tf.keras.optimizers.legacy`: Keras 2's optimizers where their steps are others than Keras 3's (keras2 layer)."""

from typing import Any, cast

import keras
from keras import ops

from stratax.base.typing import DTypeLike, TensorLike

# The base of Dozat's schedule of momentum; legacy optimizers raise it to a part of the number of steps.
_BASE = 0.96


class Nadam(keras.optimizers.Nadam):
    """Adam with Nesterov momentum, as `tf.keras.optimizers.legacy.Nadam`: its momentum grows 250 times as slowly.

    Args:
        learning_rate: The size of a step.
        beta_1: The decay of the mean of gradients.
        beta_2: The decay of the mean of their squares.
        epsilon: Is added to the root of the latter.
        name: The optimizer's name.
        schedule_decay: Which part of the number of steps the schedule of the momentum is raised to.
        **kwargs: As of every optimizer of Keras.

    Example:
        >>> import stratax.tf as tf
        >>> round(float(tf.keras.optimizers.legacy.Nadam(0.01).learning_rate.numpy()), 3)
        0.01
    """

    def __init__(
        self,
        learning_rate: object = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        name: str = "Nadam",
        schedule_decay: float = 0.004,
        **kwargs: object,
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, name=name, **kwargs)
        self.schedule_decay = schedule_decay

    def _momentum_at(self, step: object, dtype: DTypeLike) -> Any:
        power = ops.cast(self.schedule_decay, dtype) * ops.cast(step, dtype)
        return self.beta_1 * (1.0 - 0.5 * ops.power(ops.cast(_BASE, dtype), power))

    def _backend_update_step(
        self, grads: object, trainable_variables: object, learning_rate: TensorLike
    ) -> None:
        product = self._u_product
        self.assign(product, product * self._momentum_at(self.iterations + 1, product.dtype))
        # Past Keras' own method, which would multiply it again.
        super(keras.optimizers.Nadam, self)._backend_update_step(grads, trainable_variables, learning_rate)

    def update_step(self, gradient: TensorLike, variable: Any, learning_rate: TensorLike) -> None:
        """Change a variable by the gradient of the loss, as Keras 3's does with another schedule."""
        dtype = variable.dtype
        rate, gradient = ops.cast(learning_rate, dtype), ops.cast(gradient, dtype)
        now, then = (self._momentum_at(self.iterations + ahead, dtype) for ahead in (1, 2))
        product = ops.cast(self._u_product, dtype)
        index = self._get_variable_index(variable)
        mean, square = self._momentums[index], self._velocities[index]
        self.assign_add(mean, (gradient - mean) * (1 - self.beta_1))
        self.assign_add(square, (ops.square(gradient) - square) * (1 - self.beta_2))
        ahead = then * mean / (1 - product * then) + (1 - now) * gradient / (1 - product)
        power = ops.power(ops.cast(self.beta_2, dtype), ops.cast(self.iterations + 1, dtype))
        self.assign_sub(variable, rate * ahead / (ops.sqrt(square / (1 - power)) + self.epsilon))

    def get_config(self) -> dict[str, Any]:
        """Return what it is made of."""
        return {**cast(dict[str, Any], super().get_config()), "schedule_decay": self.schedule_decay}


class RMSprop(keras.optimizers.RMSprop):
    """RMSprop as `tf.keras.optimizers.legacy.RMSprop`: without momentum, `epsilon` is added to the root.

    Keras 3 adds it to what the root is taken of, which makes steps along small gradients smaller.
    """

    def update_step(self, gradient: TensorLike, variable: Any, learning_rate: TensorLike) -> None:
        """Change a variable by the gradient of the loss."""
        if self.momentum > 0:
            super().update_step(gradient, variable, learning_rate)
            return
        rate, gradient = ops.cast(learning_rate, variable.dtype), ops.cast(gradient, variable.dtype)
        index = self._get_variable_index(variable)
        square = self._velocities[index]
        self.assign(square, self.rho * square + (1 - self.rho) * ops.square(gradient))
        variance = square
        if self.centered:
            mean = self._average_gradients[index]
            self.assign(mean, self.rho * mean + (1 - self.rho) * gradient)
            variance = square - ops.square(mean)
        self.assign_sub(variable, rate * gradient / (ops.sqrt(variance) + self.epsilon))
