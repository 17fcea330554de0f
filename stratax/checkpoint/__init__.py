"""Saving and restoring the state of a program: checkpoints, their folders, and saving when a machine is taken away.

Layer: above `stratax.data`, below `stratax.distribute`. `stratax.train` is its front door.
"""

from stratax.checkpoint._checkpoint import Checkpoint as Checkpoint
from stratax.checkpoint._checkpoint import CheckpointOptions as CheckpointOptions
from stratax.checkpoint._status import CheckpointLoadStatus as CheckpointLoadStatus

__all__ = ["Checkpoint", "CheckpointLoadStatus", "CheckpointOptions"]
