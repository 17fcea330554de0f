"""`tf.contrib.opt`'s decoupled weight decay (Loshchilov & Hutter, 2019): variables shrink before a step (v1 layer)."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import keras

from stratax.distribute.keras_hooks import apply_once
from stratax.tensorflow.ops.calls.creation import on_device
from stratax.tensorflow.v1._operation import Operation
from stratax.tensorflow.v1._operations import control_dependencies
from stratax.tensorflow.v1._optimizer import GradsAndVars, Number, Optimizer, of_all_replicas
from stratax.tensorflow.v1._optimizers import (
    AdamOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
)


class DecoupledWeightDecayExtension(Optimizer):
    """Has another optimizer's variables decay, as `tf.contrib.opt.DecoupledWeightDecayExtension`.

    It stands in front of the optimizer among the bases of a class.

    Args:
        weight_decay: The part of a variable that each step takes away first: a number, an array, or a function without
            arguments that gives one.
        **kwargs: The optimizer's own.
    """

    def __init__(self, weight_decay: Number, **kwargs: Any) -> None:
        self._weight_decay = weight_decay
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: object,
        global_step: keras.Variable | None = None,
        var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: object = None,
        decay_var_list: Iterable[keras.Variable] | None = None,
    ) -> Any:
        """Return the operation that makes one step towards a smaller loss.

        Args:
            loss: As in `Optimizer.minimize`, like all that follow.
            global_step: See there.
            var_list: See there.
            gate_gradients: See there.
            aggregation_method: See there.
            colocate_gradients_with_ops: See there.
            name: See there.
            grad_loss: See there.
            decay_var_list: Ignored, as TensorFlow 1.15 does: all variables decay. `apply_gradients` takes one.
        """
        return super().minimize(
            loss,
            global_step,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            name,
            grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: GradsAndVars,
        global_step: keras.Variable | None = None,
        name: str | None = None,
        decay_var_list: Iterable[keras.Variable] | None = None,
    ) -> Any:
        """Return the operation that has variables decay, and then changes them by their gradients.

        Args:
            grads_and_vars: Pairs of gradient and variable; those without a gradient do not decay.
            global_step: A variable that the operation counts up; None for none.
            name: The operation's name.
            decay_var_list: The variables that decay; by default all.
        """
        pairs = list(grads_and_vars)
        chosen = {id(variable) for variable in decay_var_list or ()}
        decaying = [
            (gradient, variable)
            for gradient, variable in pairs
            if gradient is not None and (not chosen or id(variable) in chosen)
        ]
        decayed = self._decay(decaying)
        if decayed is None:
            return super().apply_gradients(pairs, global_step, name)
        # First the decay, as in Loshchilov & Hutter's step: gradients were computed before it all the same.
        with control_dependencies([decayed]):
            return super().apply_gradients(pairs, global_step, name)

    def _decay(self, pairs: list[tuple[Any, keras.Variable]]) -> Operation | None:
        scope = self._enter_scope()
        # Of a gradient of looked-up rows only these rows decay, as in TensorFlow's `_resource_scatter_add`.
        rows = [None if scope is None else scope.derivatives.rows_of(gradient) for gradient, _ in pairs]
        variables = [variable for _, variable in pairs]
        if isinstance(self, GradientDescentOptimizer):
            # TensorFlow's subtracts rows on a way of its own, on which nothing decays.
            variables = [variable for mask, variable in zip(rows, variables, strict=True) if mask is None]
            rows = [None] * len(variables)
        decay = on_device(self._weight_decay() if callable(self._weight_decay) else self._weight_decay)

        def update() -> None:
            touched = of_all_replicas(rows)
            apply_once([decay, *(mask for mask in touched if mask is not None)], make, variables)

        def make(arrays: list[Any]) -> None:
            part, *masks = arrays
            left = iter(masks)
            for mask, variable in zip(rows, variables, strict=True):
                value = variable.value
                lost = part.astype(value.dtype) * value
                if mask is not None:
                    # The mask of rows, (rows,), against the variable's shape.
                    lost = jnp.where(jnp.reshape(next(left), (-1, *(1,) * (value.ndim - 1))), lost, 0)
                keras.Variable.assign(variable, value - lost)

        if scope is None:
            update()
            return None
        return scope.operation(update, name="decay")


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """`MomentumOptimizer` whose variables decay, as `tf.contrib.opt.MomentumWOptimizer`.

    Args:
        weight_decay: The part of a variable that each step takes away first.
        learning_rate: As the optimizer's, like all that follow.
        momentum: See there.
        use_locking: See there.
        name: See there.
        use_nesterov: See there.
    """

    def __init__(
        self,
        weight_decay: Number,
        learning_rate: Number,
        momentum: Number,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """`AdamOptimizer` whose variables decay, as `tf.contrib.opt.AdamWOptimizer`.

    Args:
        weight_decay: The part of a variable that each step takes away first.
        learning_rate: As the optimizer's, like all that follow.
        beta1: See there.
        beta2: See there.
        epsilon: See there.
        use_locking: See there.
        name: See there.
    """

    def __init__(
        self,
        weight_decay: Number,
        learning_rate: Number = 0.001,
        beta1: Number = 0.9,
        beta2: Number = 0.999,
        epsilon: Number = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Optimizer]:
    """Return a class of optimizers as another one, whose variables decay.

    Args:
        base_optimizer: The other class. The new one takes `weight_decay` in front, and all else by keyword.

    Example:
        AdamW by another name::

            AdamW = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdamOptimizer)
            optimizer = AdamW(weight_decay=1e-4, learning_rate=1e-3)
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[valid-type,misc]
        """An optimizer whose variables decay."""

    return OptimizerWithDecoupledWeightDecay
