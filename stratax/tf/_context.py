"""Whether Python's or a compiled program's values are at hand (tf layer)."""

from stratax.core import _capture


def executing_eagerly() -> bool:
    """Whether the caller computes values at once: False while `tf.function` or `strategy.run` traces it."""
    return _capture.current_region() is None
