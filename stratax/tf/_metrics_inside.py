"""What programs import of `tensorflow.python.ops.metrics_impl`: metrics, and a matrix of confusions (tf layer)."""

from typing import Any

from stratax.tensorflow.v1.metrics import streaming_confusion_matrix as _streaming_confusion_matrix

# TensorFlow calls it so, too, and programs import it.
__all__ = ["_streaming_confusion_matrix"]


def __getattr__(name: str) -> Any:
    from stratax.tf.compat.v1 import metrics

    return getattr(metrics, name)
