"""What programs import of `tensorflow.python.trackable.data_structures` (tf layer)."""

from ._structures import NoDependency as NoDependency
