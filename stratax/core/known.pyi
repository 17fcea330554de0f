from ._known import KnownTrace as KnownTrace
