"""A lock of an object that may be sent to another process."""

import threading
from typing import Any


class OwnLock:
    """A lock; a copy of the object that has it, in this process or another, has one of its own.

    Example:
        >>> import copy
        >>> lock = OwnLock()
        >>> with lock, copy.deepcopy(lock):
        ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:
        return OwnLock, ()
