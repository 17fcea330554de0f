"""`Server`: a task that serves others, a parameter server or a worker (distribute layer)."""

import atexit
import contextlib
import logging
import signal
import sys
import threading
from typing import Any

from stratax import cluster as clusters
from stratax.base.shown import shown
from stratax.base.spare_threads import keep_spare_threads, start_thread
from stratax.cluster import exits
from stratax.errors import BadArgumentError, PeerLostError
from stratax.parameter_servers.remote._servers import Servers
from stratax.parameter_servers.remote._worker import WorkerServer
from stratax.parameter_servers.servers import MessageServer, ShardServer, abort_all, issue
from stratax.startup import malloc

# How long a parameter server may take to answer a worker, in seconds.
_ANSWER_SECONDS = 300.0

# How long a program that comes to its end waits until nobody uses its servers any more, in seconds.
_END_SECONDS = 5.0

_in_this_process: list["Server"] = []
_logger = logging.getLogger("stratax")


class Server:
    """A task that others use: a parameter server keeps shards of variables, a worker runs steps.

    Follows `tf.distribute.Server`. It listens at its address of the cluster, and only to tasks that have the cluster's
    secret. Several servers may be in one process. It serves until it is closed, or the program ends.

    Args:
        server_or_cluster_def: The cluster: a `ClusterSpec`, or a dict from jobs to addresses.
        job_name: The task's job, ``"ps"`` or ``"worker"``; a chief and an evaluator serve nobody. None where the
            cluster has one job only.
        task_index: Its number; None where the job has one task only.
        protocol: Accepted for TensorFlow's signature: tasks speak Arrow Flight over TLS.
        config: Accepted for TensorFlow's signature.
        start: Whether it starts at once; else :meth:`start` does it.

    Raises:
        BadArgumentError: If the cluster has no such task.
        ClusterError: If nothing can listen at its address.

    Example:
        >>> server = Server({"ps": ["127.0.0.1:0"]}, start=False)
        >>> server.target
        'grpc://127.0.0.1:0'
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: object = None,
        start: bool = True,
    ) -> None:
        self._cluster = clusters.ClusterSpec(server_or_cluster_def)
        self._job = _only("job_name", job_name, list(self._cluster.jobs))
        self._index = _only("task_index", task_index, list(self._cluster.task_indices(self._job)))
        self._protocol = protocol or "grpc"
        self._server: MessageServer | None = None
        self._ended = threading.Event()
        # What the coordinator's program has failed with.
        self._error: str | None = None
        if start:
            self.start()

    @property
    def server_def(self) -> dict[str, Any]:
        """The cluster, and which task this is."""
        return {
            "cluster": self._cluster.as_dict(),
            "job_name": self._job,
            "task_index": self._index,
            "protocol": self._protocol,
        }

    @property
    def target(self) -> str:
        """The address, as TensorFlow writes it."""
        return f"{self._protocol}://{self._cluster.task_address(self._job, self._index)}"

    def start(self) -> None:
        """Begin to listen; does nothing where it listens already."""
        if self._server is not None or self._job not in ("ps", "worker"):
            return
        certificates = issue(clusters.credentials(self._cluster).key)
        host, port = clusters.host_and_port(self._cluster.task_address(self._job, self._index))
        if self._job == "ps":
            self._server = ShardServer(host, port, certificates, on_end=self._end)
        else:
            indices = self._cluster.task_indices("ps") if "ps" in self._cluster.jobs else ()
            addresses = [self._cluster.task_address("ps", index) for index in indices]
            servers = Servers(addresses, certificates, timeout=_ANSWER_SECONDS)
            self._server = WorkerServer(host, port, certificates, servers, on_end=self._end)
        if not _in_this_process:
            # Behind those of whoever uses it, which run first.
            atexit.unregister(_end_all)
            atexit.register(_end_all)
        _in_this_process.append(self)
        # `_end_all` closes each in a thread, and waits for all in another one.
        keep_spare_threads("closing", len(_in_this_process) + 1)
        _logger.info("Task %s of job %s listens at port %d.", self._index, self._job, self._server.port)

    def join(self) -> None:
        """Serve until the coordinator's program has ended, or SIGTERM or Ctrl-C comes; end the process with code 0.

        If that program has failed, the error is written, and the code is that of a lost task, 201. In another thread
        than the main one it waits for :meth:`close`, and returns.

        Raises:
            PeerLostError: In another thread than the main one, if that program has failed.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if is_main:
            if self._job == "ps":
                malloc.give_back()
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self._ended.set())
        # In pieces: a wait without an end can't be interrupted on every system.
        while not self._ended.wait(1.0):
            pass
        failure = self._failure()
        if is_main:
            # An ordinary end waits for the streams of all tasks, which may go on, and for a step that waits for others.
            exits.leave(exits.code_of(failure) if failure else 0, str(failure or ""))
        self.close()
        if failure is not None:
            raise failure

    def _end(self, error: str | None) -> None:
        self._error = error
        self._ended.set()

    def _failure(self) -> PeerLostError | None:
        if self._error is None:
            return None
        return PeerLostError(
            f"Task /job:{self._job}/task:{self._index} ends, as the coordinator's program has failed: {self._error}"
        )

    def close(self) -> None:
        """Stop listening."""
        self._ended.set()
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(ValueError):
            _in_this_process.remove(self)

    def wait(self) -> None:
        """Wait until nobody uses this task any more, which is closed."""
        if self._server is not None:
            self._server.wait()

    @staticmethod
    def create_local_server(config: object = None, start: bool = True) -> "Server":
        """Make a server of a cluster that has one worker, at a free port of this machine.

        Args:
            config: Accepted for TensorFlow's signature.
            start: Whether it starts at once.
        """
        return Server({"worker": ["127.0.0.1:0"]}, start=start)


def _end_all() -> None:
    """End the servers of a program that has come to its end; Flight would wait for their last stream, without end."""
    # Of tasks in this process: whoever waits for an answer fails, and ends its stream.
    abort_all()
    if not start_thread(_close_all, "close-servers").wait(_END_SECONDS):
        # Tasks elsewhere keep streams open, or a step of this process is not done.
        error = getattr(sys, "last_value", None)
        exits.leave(0 if error is None else exits.code_of(error))


def _close_all() -> None:
    servers = list(_in_this_process)
    for server in servers:
        server.close()
    for server in servers:
        server.wait()


def _only(name: str, given: object, possible: list[Any]) -> Any:
    """Return which one was given, or the only one that there is."""
    if given is None and len(possible) == 1:
        return possible[0]
    if given not in possible:
        raise BadArgumentError(
            f"The cluster has no such task. Expected: {name} is one of {shown(possible)}. Received: {name}="
            f"{shown(given)}."
        )
    return given
