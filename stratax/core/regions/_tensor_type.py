"""The type of a tensor that is not at hand (core layer)."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class TensorType:
    """The shape and dtype of a tensor that a compiled function was shown, or of one that it returns."""

    shape: tuple[int, ...]
    dtype: Any

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether an array has this shape and dtype."""
        return getattr(other, "dtype", None) == self.dtype and tuple(other.shape) == self.shape

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype=tf.{self.dtype})"
