"""Kills a worker at a random step of a training program, and checks what comes of it.

Run it from the root of the checkout: ``python -m tests.stress.killed_workers --runs 20``, with ``--input sharded`` or
``--input uneven`` for workers that each read a part of the data (see `killed_program`). An undisturbed run comes
first. In each further run a random worker is killed with SIGKILL at a random step; the other must end within 10 s with
an error that names it, `stratax launch --restarts` must go on from the last checkpoint, the final weights must be those
of the undisturbed run, bit for bit, and every epoch must have used every example exactly once. The exit status is 1 if
any run failed.
"""

import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
import psutil

from tests.stress import killed_program

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKERS = 2
SURVIVOR_SECONDS = 10.0
PAUSE = 0.05
EXAMPLES = killed_program.ROWS
STEPS_IN_EPOCH = -(-EXAMPLES // killed_program.BATCH)
LAST_STEPS = 8
"""Before so many steps of the end nobody is killed."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How one run ended.

    Attributes:
        problems: What was not as it should be; empty if all was.
        victim: The worker that was killed, and the step that it had done.
        seconds_to_error: From the kill until the survivor was gone.
        seconds_to_training: From the kill until the first step after the restart.
    """

    problems: list[str]
    victim: tuple[int, int] = (-1, -1)
    seconds_to_error: float = 0.0
    seconds_to_training: float = 0.0


def undisturbed(folder: pathlib.Path, kind: str = "whole") -> None:
    """Trains once without harm, as the standard.

    Args:
        folder: Where it leaves what it did.
        kind: One of `killed_program.INPUTS`.

    Raises:
        RuntimeError: If it fails.
    """
    with _launched(folder, kind, restarts=0, pause=0.0) as process:
        output, _ = process.communicate(timeout=200)
    if process.returncode:
        raise RuntimeError(f"The undisturbed run failed:\n{output}")


def run_once(
    folder: pathlib.Path, standard: pathlib.Path, chance: random.Random, kind: str = "whole"
) -> Outcome:
    """Trains once, with one kill.

    Args:
        folder: Where the run leaves what it did.
        standard: Where the undisturbed one did.
        chance: Chooses who is killed and when.
        kind: The input of both.

    Returns:
        How it ended.
    """
    steps = len(_attempts(standard, 0)[0][1])
    victim, at = chance.randrange(WORKERS), chance.randrange(1, steps - LAST_STEPS)
    with _launched(folder, kind, restarts=1, pause=PAUSE) as process:
        _wait_until(
            lambda: len(_attempts(folder, victim)[-1:]) and len(_attempts(folder, victim)[-1][1]) >= at
        )
        time.sleep(chance.uniform(0, PAUSE))
        pids = [_attempts(folder, worker)[0][0] for worker in range(WORKERS)]
        os.kill(pids[victim], signal.SIGKILL)
        killed = time.monotonic()
        _wait_until(lambda: all(_is_gone(pid) for pid in pids))
        to_error = time.monotonic() - killed
        _wait_until(lambda: process.poll() is not None or _restarted(folder))
        to_training = time.monotonic() - killed
        output, _ = process.communicate(timeout=200)
    problems = [] if process.returncode == 0 else [f"exit code {process.returncode}:\n{output}"]
    problems += _problems_of_survivor(folder, victim, to_error)
    problems += [] if problems else [*differences(folder, standard), *problems_of_examples(folder, kind)]
    return Outcome(
        problems=problems,
        victim=(victim, at),
        seconds_to_error=to_error,
        seconds_to_training=to_training,
    )


def differences(folder: pathlib.Path, standard: pathlib.Path) -> list[str]:
    """Where final weights, optimizer state or the examples of a step are not those of the undisturbed run."""
    found = []
    for worker in range(WORKERS):
        ours, theirs = (np.load(each / f"worker{worker}.npz") for each in (folder, standard))
        found += [
            f"worker {worker}: {name} differs"
            for name in theirs
            if ours[name].tobytes() != theirs[name].tobytes()
        ]
        expected = dict(_attempts(standard, worker)[0][1])
        for _, steps in _attempts(folder, worker):
            found += [
                f"worker {worker}: other examples in step {k}" for k, seen in steps if seen != expected[k]
            ]
    return found


def problems_of_examples(folder: pathlib.Path, kind: str = "whole") -> list[str]:
    """Which epochs did not use every example exactly once, going by the last time that each step was done.

    Where the epochs of several workers overlap, all epochs together.
    """
    last = [
        dict(step for _, steps in _attempts(folder, worker) for step in steps) for worker in range(WORKERS)
    ]
    if kind != "whole":
        times = collections.Counter(_seen(last, range(len(last[0]))))
        expected = killed_program.EPOCHS * np.array([killed_program.is_kept(k) for k in range(EXAMPLES)])
        wrong = [number for number in range(EXAMPLES) if times[number] != expected[number]]
        return [f"{len(wrong)} examples were not used once in each epoch"] if wrong else []
    found = []
    for epoch in range(killed_program.EPOCHS):
        seen = _seen(last, range(epoch * STEPS_IN_EPOCH, (epoch + 1) * STEPS_IN_EPOCH))
        if sorted(seen) != list(range(EXAMPLES)):
            found.append(f"epoch {epoch} used {len(seen)} examples, {len(set(seen))} different ones")
    return found


def _seen(last: list[dict[int, tuple[int, ...]]], steps: range) -> list[int]:
    """The examples of steps, in all workers."""
    seen: list[int] = []
    for step in steps:
        parts = [done.get(step, ()) for done in last]
        # Of a last batch that does not divide, every replica computes all.
        seen += parts[0] if parts[0] == parts[1] else [number for part in parts for number in part]
    return seen


def _problems_of_survivor(folder: pathlib.Path, victim: int, seconds: float) -> list[str]:
    error = (folder / "logs" / f"worker-{1 - victim}.err").read_text()
    found = [] if seconds <= SURVIVOR_SECONDS else [f"the survivor took {seconds:.1f} s to end"]
    if f"/job:worker/task:{victim} died" not in error or "exit code 201 (PEER_LOST)" not in error:
        found.append(f"the survivor does not name worker {victim}:\n{error[-3000:]}")
    return found


@contextlib.contextmanager
def _launched(folder: pathlib.Path, kind: str, *, restarts: int, pause: float) -> Iterator[subprocess.Popen]:
    """`stratax launch`, and at the end nothing of it."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "stratax.cli", "launch", "--workers", str(WORKERS)]
    command += ["--devices-per-worker", "1", "--restarts", str(restarts), "--timeout", "180"]
    command += ["--log-dir", str(folder / "logs"), "-m", "tests.stress.killed_program", str(folder)]
    ours = ("STRATAX_", "JAX_", "XLA_", "TF_CONFIG", "PJRT_NPROC", "NPROC", "KERAS_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    process = subprocess.Popen(
        [*command, "--pause", str(pause), "--input", kind],
        cwd=ROOT,
        env={**environment, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()  # Its tasks end with it.
        process.communicate()


def _attempts(folder: pathlib.Path, worker: int) -> list[tuple[int, list[tuple[int, tuple[int, ...]]]]]:
    """A worker's notes: for each start its process id, and the steps that it did with their examples."""
    path = folder / f"worker{worker}.steps"
    attempts: list[tuple[int, list[tuple[int, tuple[int, ...]]]]] = []
    for line in path.read_text().splitlines() if path.exists() else []:
        first, *numbers = line.split()
        if first == "attempt":
            attempts.append((int(numbers[0]), []))
        else:
            attempts[-1][1].append((int(first), tuple(int(number) for number in numbers)))
    return attempts


def _restarted(folder: pathlib.Path) -> bool:
    attempts = [_attempts(folder, worker) for worker in range(WORKERS)]
    return all(len(each) > 1 and each[1][1] for each in attempts)


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait_until(condition: Callable[[], object], seconds: float = 150.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the run did not come so far")
        time.sleep(0.01)


def main() -> int:
    """Runs them all, one after the other.

    Returns:
        The exit status: 0 if every run ended well.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--input", choices=killed_program.INPUTS, default="whole")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="stratax-killed-") as name:
        folder = pathlib.Path(name)
        undisturbed(folder / "standard", options.input)
        for number in range(options.runs):
            outcome = run_once(folder / str(number), folder / "standard", chance, options.input)
            outcomes.append(outcome)
            print(f"run {number}: worker {outcome.victim[0]} killed at step {outcome.victim[1]}:", end=" ")
            print(
                f"error after {outcome.seconds_to_error:.2f} s, training after {outcome.seconds_to_training:.1f} s.",
                *(outcome.problems or ["As undisturbed."]),
                flush=True,
            )
    good = sum(not outcome.problems for outcome in outcomes)
    print(
        f"{good} of {len(outcomes)} runs as undisturbed; "
        f"error after {statistics.median(each.seconds_to_error for each in outcomes):.2f} s, "
        f"training again after {statistics.median(each.seconds_to_training for each in outcomes):.1f} s (medians)"
    )
    return 0 if good == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
