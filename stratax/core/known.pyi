from ._known import KnownTrace as KnownTrace
from ._known import OpaqueError as OpaqueError
