"""What programs import of `tensorflow.python.tf2` (tf layer)."""

from ._context import enabled as enabled
