"""Objects that are tracked or not, as `tensorflow.python.trackable.data_structures` says it (tf layer)."""

from typing import Any


def NoDependency(value: Any) -> Any:
    """Return a value that an object is to keep as it is: what Stratax saves of it, it finds by itself."""
    return value
