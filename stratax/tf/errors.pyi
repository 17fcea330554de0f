import stratax.errors
from stratax.errors import DataLossError as DataLossError
from stratax.errors import OutOfRangeError as OutOfRangeError

InvalidArgumentError = stratax.errors.BadArgumentError
NotFoundError = stratax.errors.FileMissingError
PermissionDeniedError = stratax.errors.FileAccessError
