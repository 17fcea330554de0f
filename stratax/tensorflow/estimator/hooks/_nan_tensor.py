"""`NanTensorHook`: ends a training whose loss is NaN (estimator layer)."""

import logging

import numpy as np

from stratax import errors
from stratax.tensorflow.estimator.hooks._session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_logger = logging.getLogger("stratax")


class NanTensorHook(SessionRunHook):
    """Ends a training at the dispatch in which a tensor was NaN, as TensorFlow's.

    It looks at each step of a dispatch, and waits for the devices to do so.

    Args:
        loss_tensor: The tensor, or its name.
        fail_on_nan_loss: Whether to raise; else the training ends without an error.
    """

    def __init__(self, loss_tensor: object, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the tensor."""
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look for NaN.

        Raises:
            NanLossDuringTrainingError: If there is one; names the first step that had it.
        """
        losses = np.asarray(run_values.each_step)
        is_nan = np.isnan(losses).reshape(len(losses), -1).any(axis=1)
        if not is_nan.any():
            return
        session = run_context.session
        step = session.global_step - len(losses) + int(is_nan.argmax()) + 1
        if self._fail_on_nan_loss:
            _logger.error("Model diverged with loss = NaN.")
            raise errors.NanLossDuringTrainingError(
                f"NaN loss during training, at step {step}. The variables may be spoilt since. Go on from an earlier "
                "checkpoint with a smaller learning rate, and look for log(0) or a division by 0 in the loss."
            )
        _logger.warning("Model diverged with loss = NaN, at step %d.", step)
        run_context.request_stop()
