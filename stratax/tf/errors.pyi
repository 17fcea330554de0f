"""`tf.errors` (tf layer)."""

import stratax.errors
from stratax.errors import ABORTED as ABORTED
from stratax.errors import ALREADY_EXISTS as ALREADY_EXISTS
from stratax.errors import CANCELLED as CANCELLED
from stratax.errors import DATA_LOSS as DATA_LOSS
from stratax.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from stratax.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from stratax.errors import INTERNAL as INTERNAL
from stratax.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from stratax.errors import NOT_FOUND as NOT_FOUND
from stratax.errors import OK as OK
from stratax.errors import OUT_OF_RANGE as OUT_OF_RANGE
from stratax.errors import PERMISSION_DENIED as PERMISSION_DENIED
from stratax.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from stratax.errors import UNAUTHENTICATED as UNAUTHENTICATED
from stratax.errors import UNAVAILABLE as UNAVAILABLE
from stratax.errors import UNIMPLEMENTED as UNIMPLEMENTED
from stratax.errors import UNKNOWN as UNKNOWN
from stratax.errors import AbortedError as AbortedError
from stratax.errors import AlreadyExistsError as AlreadyExistsError
from stratax.errors import CancelledError as CancelledError
from stratax.errors import DataLossError as DataLossError
from stratax.errors import FailedPreconditionError as FailedPreconditionError
from stratax.errors import InternalError as InternalError
from stratax.errors import OutOfRangeError as OutOfRangeError
from stratax.errors import ResourceExhaustedError as ResourceExhaustedError
from stratax.errors import UnauthenticatedError as UnauthenticatedError
from stratax.errors import UnimplementedError as UnimplementedError
from stratax.errors import UnknownError as UnknownError

DeadlineExceededError = stratax.errors.ClusterTimeoutError
InvalidArgumentError = stratax.errors.BadArgumentError
NotFoundError = stratax.errors.FileMissingError
OpError = stratax.errors.StrataxError
OperatorNotAllowedInGraphError = stratax.errors.TracingError
PermissionDeniedError = stratax.errors.FileAccessError
UnavailableError = stratax.errors.PeerLostError
