"""Checkpoints: `sx.train`."""

from stratax.checkpoint import Checkpoint as Checkpoint
from stratax.checkpoint import CheckpointLoadStatus as CheckpointLoadStatus
from stratax.checkpoint import CheckpointOptions as CheckpointOptions

__all__ = ["Checkpoint", "CheckpointLoadStatus", "CheckpointOptions"]
