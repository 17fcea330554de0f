"""Starts the tasks of a cluster as real processes, and never leaves one behind.

    with tasks(2, program) as cluster:
        cluster.kill(1)
        results = cluster.wait()

`program` is Python source that runs in every task, with TF_CONFIG set; what it gives to `report(name=value)` is
collected. At the time limit the stacks of all tasks are dumped into the failure's message, and they are killed.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest

from tests.cluster import forks

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent.parent
LIMIT = 200.0

# Below those that systems give to whoever asks for any port: such a one could be gone before its task listens.
_PORTS = range(20_000, 32_000)
_chance = random.SystemRandom()  # What a test seeds would make all test processes choose the same.

_PREAMBLE = """\
import faulthandler, json, os, signal, sys, time
faulthandler.register(signal.SIGUSR1, all_threads=True)
def report(**values):
    os.write(1, ("RESULT " + json.dumps(values) + "\\n").encode())
"""
_REPORT = re.compile(r"RESULT (?=\{)")
_GLOO = re.compile(
    r"\[Gloo\] Rank | is connected to | peer ranks\. |Expected number of connected peer ranks is : "
)


@dataclasses.dataclass
class Result:
    """How a task ended.

    Attributes:
        code: Its exit code; negative for a signal.
        out: What it wrote to its output.
        err: What it wrote to its error output.
        seconds: How long after the start it ended.
    """

    code: int
    out: str
    err: str
    seconds: float

    @property
    def reports(self):
        """What it gave to `report`, one dictionary for each call."""
        # Anywhere in a line: Gloo writes there too, from other threads and in pieces.
        read = json.JSONDecoder().raw_decode
        return [read(self.out, place.end())[0] for place in _REPORT.finditer(self.out)]

    @property
    def report(self):
        """All that it gave to `report`, in one dictionary."""
        return {name: value for report in self.reports for name, value in report.items()}


class Tasks:
    """Running tasks."""

    def __init__(self, folder):
        self._folder = folder
        self._processes = []
        self._began = []
        self._ended = {}

    def start(self, program, environment, *arguments, before=()):
        """Starts one more task, and returns its number. `before` is a command that runs the task's."""
        index = len(self._processes)
        source = self._folder / f"task{index}.py"
        source.write_text(_PREAMBLE + textwrap.dedent(program))
        out, err = (self._folder / f"task{index}.{kind}" for kind in ("out", "err"))
        process = forks.start([source, *arguments], environment, CHECKOUT, out, err, before=before)
        self._processes.append(process)
        self._began.append(time.monotonic())
        return index

    def pid(self, index):
        """The process id of a task."""
        return self._processes[index].pid

    def signal(self, index, number):
        """Sends a signal to a task."""
        self._processes[index].send_signal(number)

    def kill(self, index):
        """Kills a task."""
        self.signal(index, signal.SIGKILL)

    def out(self, index):
        """What a task has written to its output so far."""
        return self._file(index, "out", "r").read()

    def err(self, index):
        """What a task has written to its error output so far."""
        return self._file(index, "err", "r").read()

    def wait_for(self, index, text, timeout=LIMIT):
        """Waits until a task has written `text`, to either output."""
        deadline = time.monotonic() + timeout
        while text not in self.out(index) + self.err(index):
            if self._processes[index].poll() is not None and text not in self.out(index) + self.err(index):
                self._fail(f"task {index} ended without writing {text!r}")
            if time.monotonic() > deadline:
                self._fail(f"task {index} did not write {text!r} within {timeout:g} s")
            time.sleep(0.02)

    def wait(self, timeout=LIMIT, only=None):
        """Waits until the tasks (or those in `only`) have ended; returns their results, in order."""
        deadline = time.monotonic() + timeout
        wanted = range(len(self._processes)) if only is None else only
        while any(self._running(index) for index in wanted):
            if time.monotonic() > deadline:
                self._fail(f"tasks {[i for i in wanted if self._running(i)]} still ran after {timeout:g} s")
            time.sleep(0.02)
        return [
            Result(self._processes[i].returncode, self.out(i), self.err(i), self._ended[i] - self._began[i])
            for i in wanted
        ]

    def close(self):
        """Kills what still runs, with everything that it started."""
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _running(self, index):
        if self._processes[index].poll() is None:
            return True
        self._ended.setdefault(index, time.monotonic())
        return False

    def _fail(self, problem):
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        shown = [
            f"--- task {i}, exit code {process.poll()}\n{self.out(i)[-4000:]}\n{self.err(i)[-8000:]}"
            for i, process in enumerate(self._processes)
        ]
        raise AssertionError("\n".join([problem, *shown]))

    def _file(self, index, kind, mode):
        return (self._folder / f"task{index}.{kind}").open(mode)


@contextlib.contextmanager
def no_tasks():
    """Tasks of which none has been started yet."""
    with tempfile.TemporaryDirectory(prefix="stratax-tasks-") as folder:
        running = Tasks(pathlib.Path(folder))
        try:
            yield running
        finally:
            running.close()


@contextlib.contextmanager
def tasks(count, program, *arguments, devices=1, chief=False, variables=None):
    """Starts a cluster of `count` tasks that all run `program`, each with so many devices.

    With `chief` the first is the chief and the others are workers. `variables` are further environment variables.
    """
    cluster = addresses(count, chief=chief)
    with no_tasks() as running:
        for kind, index in places(cluster):
            running.start(
                program, environment(cluster, kind, index, devices=devices, variables=variables), *arguments
            )
        yield running


def run_tasks(count, program, *arguments, timeout=LIMIT, **options):
    """Runs `program` in a cluster of `count` tasks; returns how each ended."""
    with tasks(count, program, *arguments, **options) as running:
        return running.wait(timeout)


def as_stranger(source, *arguments):
    """Runs Python source as a user who is nobody else on this machine, and returns what it prints.

    The test is skipped where this user may not become another.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can play another user")
    # What it imports lies, perhaps, where the other user may not read.
    imports = "import encodings.idna, errno, hashlib, hmac, json, os, socket, struct, sys, time\n"
    become = f"{imports}os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", become + textwrap.dedent(source), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def addresses(count, *, chief=False):
    """A cluster of `count` tasks on free ports of this machine, as it stands in TF_CONFIG."""
    all_addresses = [f"127.0.0.1:{port}" for port in free_ports(count)]
    if chief:
        return {"chief": all_addresses[:1], "worker": all_addresses[1:]}
    return {"worker": all_addresses}


def places(cluster):
    """The job and number of every task of a cluster."""
    return [(job, index) for job, tasks_of_job in cluster.items() for index in range(len(tasks_of_job))]


def environment(cluster, kind, index, *, devices=1, variables=None):
    """The environment of a task: TF_CONFIG, so many CPU devices, and nothing of the settings of this process.

    There is a secret, so that no task warns that there is none.
    """
    config = {"cluster": cluster, "task": {"type": kind, "index": index}}
    return {
        **forks.environment_of_a_task(),
        "STRATAX_SIMULATE": f"cpu:{devices}",
        "TF_CONFIG": json.dumps(config),
        "STRATAX_CLUSTER_SECRET": "of the tests, and long enough",
        **(variables or {}),
    }


def free_ports(count):
    """Ports of this machine that nothing listens on, all different."""
    free = []
    while len(free) < count:
        port = _chance.choice(_PORTS)
        with socket.socket() as each, contextlib.suppress(OSError):
            each.bind(("127.0.0.1", port))
            free += [] if port in free else [port]
    return free


def without_gloo(text):
    """What programs wrote, without the words that Gloo writes when tasks are connected; its numbers stay.

    Gloo writes every word by itself, so what other threads and processes write may stand between any two.
    """
    return _GLOO.sub("", text)
