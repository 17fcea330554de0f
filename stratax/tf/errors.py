"""`tf.errors` (tf layer)."""

from stratax.errors import BadArgumentError as InvalidArgumentError
from stratax.errors import OutOfRangeError as OutOfRangeError
from stratax.tf._names import missing_name

__all__ = [
    "InvalidArgumentError",
    "OutOfRangeError",
]
__getattr__ = missing_name(__name__, __all__)
