"""Checkpoints: saving the state of a program, restoring it, and what to do when a machine is taken away."""

from stratax.checkpoint._checkpoint import Checkpoint as Checkpoint
from stratax.checkpoint._checkpoint import CheckpointOptions as CheckpointOptions
from stratax.checkpoint._folder import CheckpointState as CheckpointState
from stratax.checkpoint._folder import checkpoint_exists as checkpoint_exists
from stratax.checkpoint._folder import get_checkpoint_state as get_checkpoint_state
from stratax.checkpoint._folder import latest_checkpoint as latest_checkpoint
from stratax.checkpoint._following import checkpoints_iterator as checkpoints_iterator
from stratax.checkpoint._manager import CheckpointManager as CheckpointManager
from stratax.checkpoint._preemption import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from stratax.checkpoint._preemption import TerminationConfig as TerminationConfig
from stratax.checkpoint._reader import CheckpointReader as CheckpointReader
from stratax.checkpoint._reader import list_variables as list_variables
from stratax.checkpoint._reader import load_checkpoint as load_checkpoint
from stratax.checkpoint._reader import load_variable as load_variable
from stratax.checkpoint._status import CheckpointLoadStatus as CheckpointLoadStatus

__all__ = [
    "Checkpoint",
    "CheckpointLoadStatus",
    "CheckpointManager",
    "CheckpointOptions",
    "CheckpointReader",
    "CheckpointState",
    "PreemptionCheckpointHandler",
    "TerminationConfig",
    "checkpoint_exists",
    "checkpoints_iterator",
    "get_checkpoint_state",
    "latest_checkpoint",
    "list_variables",
    "load_checkpoint",
    "load_variable",
]
