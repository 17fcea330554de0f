"""`tf.train`: the messages of Examples, clusters, and checkpoints (tf layer)."""

import importlib
from typing import TYPE_CHECKING, Any

from stratax.cluster import ClusterSpec as ClusterSpec
from stratax.data import BytesList as BytesList
from stratax.data import Example as Example
from stratax.data import Feature as Feature
from stratax.data import FeatureList as FeatureList
from stratax.data import FeatureLists as FeatureLists
from stratax.data import Features as Features
from stratax.data import FloatList as FloatList
from stratax.data import Int64List as Int64List
from stratax.data import SequenceExample as SequenceExample
from stratax.tf._names import missing_name

if TYPE_CHECKING:
    from stratax.train import Checkpoint as Checkpoint
    from stratax.train import CheckpointManager as CheckpointManager
    from stratax.train import CheckpointOptions as CheckpointOptions
    from stratax.train import checkpoint_exists as checkpoint_exists
    from stratax.train import checkpoints_iterator as checkpoints_iterator
    from stratax.train import get_checkpoint_state as get_checkpoint_state
    from stratax.train import latest_checkpoint as latest_checkpoint
    from stratax.train import list_variables as list_variables
    from stratax.train import load_checkpoint as load_checkpoint
    from stratax.train import load_variable as load_variable

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "CheckpointOptions",
    "ClusterSpec",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
    "checkpoint_exists",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]


def _load(name: str) -> Any:
    # Checkpoints need JAX and Orbax, which who only reads and writes Examples need not load.
    return getattr(importlib.import_module("stratax.train"), name)


__getattr__ = missing_name(__name__, __all__, _load)
