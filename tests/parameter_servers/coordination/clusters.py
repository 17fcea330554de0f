"""Clusters with parameter servers and workers, in this process or in processes of their own, for tests."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import tempfile
import time

from stratax.cluster import SimpleClusterResolver
from stratax.distribute import ClusterCoordinator, Server
from stratax.distribute.strategies import ParameterServerStrategy
from tests.cluster import forks

TASK = pathlib.Path(__file__).with_name("task.py")


def free_addresses(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def described(servers, workers):
    addresses = free_addresses(servers + workers)
    return {"ps": addresses[:servers], "worker": addresses[servers:], "chief": ["127.0.0.1:1"]}


@contextlib.contextmanager
def coordinator_of(cluster, partitioner=None, **options):
    """Give a coordinator of a cluster whose tasks run."""
    resolver = SimpleClusterResolver(cluster, task_type="chief", task_id=0)
    coordinator = ClusterCoordinator(ParameterServerStrategy(resolver, partitioner, **options))
    try:
        yield coordinator
    finally:
        coordinator.close()
        coordinator.strategy.close()


@contextlib.contextmanager
def in_process(servers=1, workers=1, partitioner=None, **options):
    """Give a coordinator whose cluster is in this process, as in TensorFlow's tutorial."""
    cluster = described(servers, workers)
    tasks = [
        Server(cluster, job_name=job, task_index=index, protocol="grpc")
        for job in ("ps", "worker")
        for index in range(len(cluster[job]))
    ]
    try:
        with coordinator_of(cluster, partitioner, **options) as coordinator:
            yield coordinator
    finally:
        for task in tasks:
            task.close()


class Processes:
    """Tasks in processes of their own, by job and number."""

    def __init__(self, cluster):
        self.cluster = cluster
        self._tasks = {}
        self._folder = tempfile.TemporaryDirectory(prefix="stratax-tasks-")
        self._started = 0

    def start(self, job, index, *, wait=True):
        """Start a task, anew if it has run before."""
        arguments = [TASK, json.dumps(self.cluster), job, str(index)]
        out, err = (pathlib.Path(self._folder.name, f"{self._started}.{kind}") for kind in ("out", "err"))
        self._started += 1
        self._tasks[job, index] = forks.start(arguments, dict(os.environ), os.getcwd(), out, err), out, err
        if wait:
            self.wait(job, index)

    def wait(self, job, index):
        """Wait until a task listens."""
        task, out, err = self._tasks[job, index]
        while out.read_text() != "ready\n":
            assert task.poll() is None, err.read_text()
            time.sleep(0.02)

    def signal(self, job, index, number=signal.SIGKILL):
        """Send a task a signal; wait for its end if that is one that ends it."""
        task = self._tasks[job, index][0]
        task.send_signal(number)
        return task.wait() if number in (signal.SIGKILL, signal.SIGTERM) else None

    def running(self):
        """Give the names and process numbers of the tasks that run."""
        return [(f"{job} {index}", task.pid) for (job, index), (task, *_) in self._tasks.items()]

    def close(self):
        for task, *_ in self._tasks.values():
            task.send_signal(signal.SIGKILL)
            task.wait()
        self._folder.cleanup()


@contextlib.contextmanager
def processes(servers=1, workers=2):
    """Give tasks that run, each in a process of its own."""
    tasks = Processes(described(servers, workers))
    names = [(job, index) for job in ("ps", "worker") for index in range(len(tasks.cluster[job]))]
    try:
        for job, index in names:
            tasks.start(job, index, wait=False)
        for job, index in names:
            tasks.wait(job, index)
        yield tasks
    finally:
        tasks.close()
