"""What programs import of `tensorflow.python.estimator.estimator`: Estimators, and a folder's last step (tf layer)."""

from typing import Any

from stratax.tensorflow.estimator import (
    load_global_step_from_checkpoint_dir as _load_global_step_from_checkpoint_dir,
)

# TensorFlow calls it so, too, and programs import it.
__all__ = ["_load_global_step_from_checkpoint_dir"]


def __getattr__(name: str) -> Any:
    from stratax.tf import estimator

    return getattr(estimator, name)
