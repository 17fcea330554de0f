"""What happens when a connected program raises, or comes to its end (cluster layer)."""

import atexit
import dataclasses
import sys
import traceback
from types import TracebackType

from stratax.cluster._cluster import Cluster
from stratax.cluster._exit import leave
from stratax.cluster._jax_runtime import let_go
from stratax.errors import ClusterError, ClusterTimeoutError, PeerLostError

# How long a task that is done waits for the others' end: they may still save, and need process 0 for that.
_FAREWELL_SECONDS = 30.0


@dataclasses.dataclass(slots=True)
class _State:
    cluster: Cluster | None = None


_state = _State()


def install(cluster: Cluster) -> None:
    """Make this process notify the others how it ends, and end without waiting for them where they can't come.

    Args:
        cluster: The cluster that it joins, in the place of one that it could not join before.
    """
    is_first = _state.cluster is None
    _state.cluster = cluster
    if not is_first:
        return
    before = sys.excepthook

    def on_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # The program's own hook first, so that the traceback is printed before the process leaves.
        before(kind, error, trace)
        _tell_and_leave(error)

    sys.excepthook = on_error
    atexit.register(_end)


def _tell_and_leave(error: BaseException) -> None:
    cluster = _state.cluster
    if cluster is None:
        return
    # Errors of the cluster have an exit code of their own, also before all have joined.
    if cluster.has_joined or isinstance(error, ClusterError | ClusterTimeoutError | PeerLostError):
        leave(*cluster.raised(error, _text(error)))


def _end() -> None:
    cluster = _state.cluster
    if cluster is not None and cluster.has_joined:
        cluster.meet_at_exit(_FAREWELL_SECONDS)
        # After the meeting: JAX's own shutdown would wait in a barrier, or end the processes that are still
        # there.
        let_go()


def _text(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
