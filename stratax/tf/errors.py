"""`tf.errors` (tf layer)."""

from stratax.errors import BadArgumentError as InvalidArgumentError
from stratax.errors import DataLossError as DataLossError
from stratax.errors import FileAccessError as PermissionDeniedError
from stratax.errors import FileMissingError as NotFoundError
from stratax.errors import OutOfRangeError as OutOfRangeError
from stratax.tf._names import missing_name

__all__ = [
    "DataLossError",
    "InvalidArgumentError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
]
__getattr__ = missing_name(__name__, __all__)
