"""Several processes on this machine that train together, on their CPUs: what a step costs, and what a failure does."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks import _measure
from benchmarks._cluster_task import MARK

_LIMIT_SECONDS = 120.0


def step(kind: str, steps: int, plan: _measure.Plan) -> _measure.Figure:
    """A step of two processes with a device each, against two processes of JAX by hand."""
    what = ("step", kind, str(steps))
    with _cluster(2, "stratax", *what) as ours, _cluster(2, "by_hand", *what) as theirs:
        found = _measure.in_turns(ours.run("run"), theirs.run("run"), plan=plan)
    per_step = [[seconds / steps for seconds in side] for side in found]
    return _measure.ratio(*per_step, numerator="stratax", denominator="by_hand")


def packing(plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast 100 gradients of 4 KB are summed in packs as one by one."""
    with _cluster(2, "stratax", "reduce", "small") as tasks:
        packed, unpacked = _measure.in_turns(tasks.run("packed"), tasks.run("unpacked"), plan=plan)
    return _measure.ratio(unpacked, packed, numerator="unpacked", denominator="packed")


def against_psum(plan: _measure.Plan) -> _measure.Figure:
    """Summing 25 MB, against `jax.lax.psum` alone."""
    with _cluster(2, "stratax", "reduce", "large") as tasks:
        found = _measure.in_turns(tasks.run("packed"), tasks.run("psum"), plan=plan)
    return _measure.ratio(*found, unit="ms", numerator="stratax", denominator="psum")


def workers(count: int, plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast so many processes make a step of the same global batch as one does.

    All of them share this machine's cores; `cores` is how many those are, and bounds the figure.
    """
    with (
        _cluster(count, "stratax", "step", "cnn", "1") as many,
        _cluster(1, "stratax", "step", "cnn", "1") as one,
    ):
        ours, alone = _measure.in_turns(many.run("run"), one.run("run"), plan=plan)
    figure = _measure.ratio(alone, ours, unit="ms", numerator="one_process", denominator="processes")
    figure.details["cores"] = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return figure


def noticing(plan: _measure.Plan) -> _measure.Figure:
    """Seconds from the SIGKILL of one of two workers until the other has ended with its error."""
    return _measure.spread([_kill_one(number % 2) for number in range(plan.processes)])


def restarting(plan: _measure.Plan) -> _measure.Figure:
    """Seconds from the SIGKILL of one of two workers until both train again, started by the launcher."""
    found = [_kill_and_restart() for _ in range(plan.processes)]
    first_start = statistics.median(started for _, started in found)
    return _measure.spread([again for again, _ in found], {"first_start_s": first_start})


class _Tasks:
    """The tasks of one cluster."""

    def __init__(self, processes: list[subprocess.Popen]) -> None:
        self.processes = processes

    def run(self, name: str) -> _measure.Run:
        """One of the runs that the tasks make, all of them together."""

        def run(count: int) -> None:
            for process in self.processes:
                print(name, count, file=process.stdin, flush=True)
            self.wait_for("done")

        return run

    def wait_for(self, word: str) -> None:
        """Waits until every task has said a word."""
        for process in self.processes:
            for line in process.stdout:  # type: ignore[union-attr]
                if line.startswith(MARK + word):
                    break
            else:
                raise RuntimeError(f"A task ended with code {process.wait()} instead of saying {word!r}.")


@contextlib.contextmanager
def _cluster(count: int, *arguments: str) -> Iterator[_Tasks]:
    """Starts so many tasks with `benchmarks._cluster_task`'s arguments, and ends them."""
    tasks = _Tasks([])
    cluster = {"worker": [f"127.0.0.1:{port}" for port in _free_ports(count)]}
    try:
        for index in range(count):
            tasks.processes.append(_start(cluster, index, arguments))
        if arguments[1] != "train":
            tasks.wait_for("ready")
        yield tasks
    finally:
        for process in tasks.processes:
            process.kill()
        for process in tasks.processes:
            process.communicate()


def _start(cluster: dict[str, list[str]], index: int, arguments: tuple[str, ...]) -> subprocess.Popen:
    config = {"cluster": cluster, "task": {"type": "worker", "index": index}}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks._cluster_task", *arguments],
        env=os.environ | _ON_CPU | {"TF_CONFIG": json.dumps(config)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


_ON_CPU = {"JAX_PLATFORMS": "cpu", "STRATAX_SIMULATE": "cpu:1", "KERAS_BACKEND": "jax"}


def _kill_one(victim: int) -> float:
    with _cluster(2, "stratax", "train") as tasks:
        tasks.wait_for("training")
        time.sleep(1.0)
        tasks.processes[victim].send_signal(signal.SIGKILL)
        killed = time.perf_counter()
        tasks.processes[1 - victim].wait(_LIMIT_SECONDS)
        return time.perf_counter() - killed


def _kill_and_restart() -> tuple[float, float]:
    """Seconds from the kill to training again, and from the first start to training."""
    with tempfile.TemporaryDirectory() as folder, _launched(pathlib.Path(folder)) as lines:
        started = time.perf_counter()
        pids = _two_train(lines)
        training = time.perf_counter()
        os.kill(pids[0], signal.SIGKILL)
        _two_train(lines)
        return time.perf_counter() - training, training - started


def _two_train(lines: Iterator[str]) -> list[int]:
    pids: list[int] = []
    for line in lines:
        if MARK + "training" in line:
            pids.append(int(line.split()[-1]))
        if len(pids) == 2:
            return pids
    raise RuntimeError("The launcher ended before both workers trained.")


@contextlib.contextmanager
def _launched(folder: pathlib.Path) -> Iterator[Iterator[str]]:
    command = [sys.executable, "-m", "stratax.cli", "launch", "--workers", "2", "--devices-per-worker", "1"]
    command += [
        "--restarts",
        "1",
        "--timeout",
        str(_LIMIT_SECONDS),
        "-m",
        "benchmarks._cluster_task",
        "stratax",
        "train",
    ]
    errors = (folder / "errors").open("w")
    process = subprocess.Popen(
        command, env=os.environ | _ON_CPU, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    try:
        yield iter(process.stdout)  # type: ignore[arg-type]
    finally:
        process.kill()  # Its tasks end with it.
        process.communicate()
        errors.close()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
