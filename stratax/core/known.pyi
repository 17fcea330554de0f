from ._constants import constant_of as constant_of
from ._known import KnownTrace as KnownTrace
from ._known import OpaqueError as OpaqueError
