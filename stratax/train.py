"""Checkpoints: saving the state of a program, restoring it, and what to do when a machine is taken away."""

from stratax.checkpoint import Checkpoint as Checkpoint
from stratax.checkpoint import CheckpointLoadStatus as CheckpointLoadStatus
from stratax.checkpoint import CheckpointManager as CheckpointManager
from stratax.checkpoint import CheckpointOptions as CheckpointOptions
from stratax.checkpoint import CheckpointReader as CheckpointReader
from stratax.checkpoint import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from stratax.checkpoint import TerminationConfig as TerminationConfig
from stratax.checkpoint import checkpoint_exists as checkpoint_exists
from stratax.checkpoint import latest_checkpoint as latest_checkpoint
from stratax.checkpoint import list_variables as list_variables
from stratax.checkpoint import load_checkpoint as load_checkpoint
from stratax.checkpoint import load_variable as load_variable

__all__ = [
    "Checkpoint",
    "CheckpointLoadStatus",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "PreemptionCheckpointHandler",
    "TerminationConfig",
    "checkpoint_exists",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
