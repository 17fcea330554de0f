"""What `tensorflow.python.eager.context` tells of the process (tf layer)."""

from stratax.cluster import list_logical_devices
from stratax.core.regions import executing_eagerly


class Context:
    """What `context` returns."""

    def executing_eagerly(self) -> bool:
        """Return whether operations compute at once."""
        return executing_eagerly()

    def num_gpus(self) -> int:
        """Return how many GPUs there are."""
        return num_gpus()


def context() -> Context:
    """Return the process' context."""
    return Context()


def num_gpus() -> int:
    """Return how many GPUs there are."""
    return len(list_logical_devices("GPU"))


def enabled() -> bool:
    """Return whether the program's TensorFlow is the second, as `tensorflow.python.tf2.enabled`."""
    return True
