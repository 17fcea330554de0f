"""BatchNormalization of `tf.layers` (v1 layer)."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np

from stratax import errors
from stratax.base.shown import shown
from stratax.base.typing import Array, TensorLike
from stratax.tensorflow.v1._core_layers import as_known
from stratax.tensorflow.v1._current import current
from stratax.tensorflow.v1._layer import Layer, functional
from stratax.tensorflow.v1._operation import operations_of

# What cuDNN needs; TensorFlow's fused kernel takes no less on any device.
_LEAST_FUSED_EPSILON = 1.001e-5


class BatchNormalization(Layer, keras.layers.BatchNormalization):
    """Normalizes each channel by the batch's mean and variance, as `tf.layers.BatchNormalization`.

    In training, the moving statistics are updated at the end of each step, also if nothing depends on the
    collection ``"update_ops"``, which has the operation that does it. In other modes the operation takes effect only
    if it is run.

    Inputs of 4 dimensions with channels in dimension 1 or 3, and of 5 with channels in 1 or 4, are those that
    TensorFlow's fused kernel takes: there the moving variance is that of a sample (with n - 1), and `epsilon` is at
    least 1.001e-5.

    Args:
        axis: The dimension of the channels, or a list of that one.
        momentum: How much of the moving statistics stays in each step.
        epsilon: Added to the variance.
        center: Whether `beta` is added.
        scale: Whether it is multiplied by `gamma`.
        beta_initializer: Gives beta's first value.
        gamma_initializer: Gives gamma's first value.
        moving_mean_initializer: Gives the moving mean's first value.
        moving_variance_initializer: Gives the moving variance's first value.
        beta_regularizer: A function of beta that gives a loss.
        gamma_regularizer: A function of gamma that gives a loss.
        beta_constraint: Applied to beta after each update of an optimizer.
        gamma_constraint: Likewise to gamma.
        renorm: Refused if True.
        renorm_clipping: Ignored.
        renorm_momentum: Ignored.
        fused: False for the numbers of TensorFlow's other kernel everywhere.
        trainable: Whether optimizers see gamma and beta, and the moving statistics are updated.
        virtual_batch_size: Refused.
        adjustment: Refused.
        name: The layer's name.
        **kwargs: Those of :class:`Layer`.

    Raises:
        BadArgumentError: For what is refused.
    """

    def __init__(
        self,
        axis: int | Sequence[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: object = "zeros",
        gamma_initializer: object = "ones",
        moving_mean_initializer: object = "zeros",
        moving_variance_initializer: object = "ones",
        beta_regularizer: object = None,
        gamma_regularizer: object = None,
        beta_constraint: object = None,
        gamma_constraint: object = None,
        renorm: bool = False,
        renorm_clipping: object = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: object = None,
        name: str | None = None,
        **kwargs: object,
    ) -> None:
        refused = {"renorm": renorm, "virtual_batch_size": virtual_batch_size, "adjustment": adjustment}
        for argument, value in refused.items():
            if value:
                raise errors.BadArgumentError(
                    f"batch_normalization does not support {argument}. Received: {argument}={shown(value)}. Leave it "
                    "out."
                )
        # TensorFlow takes a list of one dimension.
        axes = np.atleast_1d(axis).tolist()
        if len(axes) != 1:
            raise errors.BadArgumentError(
                "batch_normalization normalizes along one dimension. Expected: an integer. Received: "
                f"axis={shown(axis)}."
            )
        super().__init__(
            axis=axes[0],
            momentum=momentum,
            epsilon=epsilon,
            center=center,
            scale=scale,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer,
            beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer,
            beta_constraint=beta_constraint,
            gamma_constraint=gamma_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.fused = fused

    def _infer_dtype(self, inputs: TensorLike) -> str:
        # Statistics and factors have no use for fewer bits, as in TensorFlow.
        dtype = super()._infer_dtype(inputs)
        return "float32" if dtype in ("float16", "bfloat16") else dtype

    def call(self, inputs: TensorLike, training: Any = False, mask: object = None) -> Any:
        """Normalize by the batch's statistics if `training`, which may be a tensor, else by the moving ones."""
        array: Any = jnp.asarray(inputs)
        # TensorFlow, too, has statistics of half precision in float32.
        x = array.astype(jnp.promote_types(array.dtype, jnp.float32))
        mean, variance = self.moving_mean.value, self.moving_variance.value
        is_training = as_known(training)
        # A tensor decides when the program runs: the batch's statistics are needed as well.
        if is_training is not False:
            batch = self._moments_of_batch(x)
            if self.trainable:
                # The second argument says of how many elements each mean is.
                self._add_update(
                    batch, x.size // batch[0].size, self._is_fused(x.ndim), is_training, training
                )
            mean, variance = (
                now if is_training else jnp.where(training, now, moving)
                for now, moving in zip(batch, (mean, variance), strict=True)
            )
        shape = [1] * x.ndim
        shape[self.axis] = -1
        epsilon = max(self.epsilon, _LEAST_FUSED_EPSILON) if self._is_fused(x.ndim) else self.epsilon
        factor = jax.lax.rsqrt(variance + epsilon)
        if self.scale:
            factor = factor * self.gamma.value
        result = (x - mean.reshape(shape)) * factor.reshape(shape)
        if self.center:
            result = result + self.beta.value.reshape(shape)
        return result.astype(array.dtype)

    def _moments_of_batch(self, x: Array) -> Any:
        # TensorFlow's fused kernel has them by itself: a program's own `_moments` is not asked.
        if self._is_fused(x.ndim):
            return BatchNormalization._moments(self, x, self._reduction_axes)
        return self._moments(x, self._reduction_axes, keep_dims=False)

    def _moments(
        self, inputs: TensorLike, reduction_axes: Sequence[int], keep_dims: bool = False, mask: object = None
    ) -> Any:
        """Return the batch's mean and variance; programs override it to have those of several replicas."""
        del mask
        return keras.ops.moments(inputs, axes=list(reduction_axes), keepdims=keep_dims)

    def _is_fused(self, rank: int) -> bool:
        # What TensorFlow's fused kernel takes: images and volumes, channels first or last.
        return self.fused is not False and (rank, self.axis % rank) in ((4, 1), (4, 3), (5, 1), (5, 4))

    def _add_update(
        self, batch: Any, count: int, is_sample: bool, is_training: bool | None, training: Any
    ) -> None:
        mean, variance = batch
        # The kernel keeps the variance of a sample: divided by one less than the number of elements.
        if is_sample:
            variance = variance * (count / max(count - 1, 1))

        def update() -> None:
            for moving, now in ((self.moving_mean, mean), (self.moving_variance, variance)):
                # As `assign_moving_average` of TensorFlow computes it, with the same rounding.
                delta = (moving.value - now) * (1.0 - self.momentum)
                if is_training is None:
                    delta = jnp.where(training, delta, 0)
                moving.assign(moving.value - delta)

        scope = current()
        operation = scope.operation(update, name="AssignMovingAvg", inputs=operations_of([mean, variance]))
        self.add_update(operation)
        # TensorFlow leaves it to the program to run `UPDATE_OPS`; here nothing is lost if it does not.
        if scope.mode == "train":
            scope.always(operation)


batch_normalization = functional(
    BatchNormalization,
    "batch_normalization",
    order="inputs axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer "
    "moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint "
    "training trainable name reuse renorm renorm_clipping renorm_momentum fused virtual_batch_size "
    "adjustment",
)
