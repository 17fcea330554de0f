"""Kills a process of `fit` at a random step, or in the write of a backup, and checks what comes of it.

Run it from the root of the checkout: ``python -m tests.stress.killed_fits --runs 20``, with ``--workers 1`` for one
process. An undisturbed run comes first. In each further run one process is killed with SIGKILL; `stratax launch
--restarts` must go on from the last backup, and the final weights, optimizer state and logs must be those of the
undisturbed run, bit for bit. The exit status is 1 if any run failed.
"""

import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import numpy as np

from tests.stress import killed_fit

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAUSE = 0.03
STEPS = killed_fit.STEPS_IN_EPOCH * killed_fit.EPOCHS
SAVES = STEPS // killed_fit.SAVE_EVERY


def undisturbed(folder: pathlib.Path, workers: int, *options: str) -> None:
    """Trains once without harm, as the standard.

    Args:
        folder: Where it leaves what it did.
        workers: How many workers train.
        options: What the program is told besides.

    Raises:
        RuntimeError: If it fails.
    """
    with _launched(folder, workers, *options, restarts=0) as process:
        output, _ = process.communicate(timeout=300)
    if process.returncode:
        raise RuntimeError(f"The undisturbed run failed:\n{output}")


def killed_at_step(folder: pathlib.Path, workers: int, victim: int, step: int, *options: str) -> str:
    """Trains once, with one worker killed behind a step.

    Args:
        folder: Where the run leaves what it did.
        workers: How many workers train.
        victim: Which of them is killed.
        step: When.
        options: What the program is told besides.

    Returns:
        What was wrong with the run, or an empty text.
    """
    with _launched(folder, workers, *options, "--pause", str(PAUSE), restarts=1) as process:
        deadline = time.monotonic() + 240
        while len(notes := _notes(folder, victim)) < step + 2:
            if time.monotonic() > deadline or process.poll() is not None:
                return f"the run did not come as far as step {step}:\n{process.communicate(timeout=240)[0]}"
            time.sleep(0.005)
        os.kill(int(notes[0].split()[1]), signal.SIGKILL)
        return _end(process, folder, workers)


def killed_in_save(folder: pathlib.Path, workers: int, save: int, *options: str) -> str:
    """Trains once, with the chief killed while it writes a backup.

    Args:
        folder: Where the run leaves what it did.
        workers: How many workers train.
        save: Which backup that is.
        options: What the program is told besides.

    Returns:
        What was wrong with the run, or an empty text.
    """
    with _launched(folder, workers, *options, "--die-in-save", str(save), restarts=1) as process:
        return _end(process, folder, workers)


def differences(folder: pathlib.Path, standard: pathlib.Path, workers: int) -> list[str]:
    """Where final logs, weights or optimizer state are not those of the undisturbed run."""
    found = []
    for worker in range(workers):
        ours, theirs = (np.load(each / f"worker{worker}.npz") for each in (folder, standard))
        found += [
            f"worker {worker}: {name} differs"
            for name in theirs
            if ours[name].tobytes() != theirs[name].tobytes()
        ]
    return found


def _end(process: subprocess.Popen, folder: pathlib.Path, workers: int) -> str:
    output, _ = process.communicate(timeout=300)
    if process.returncode:
        return f"exit code {process.returncode}:\n{output}"
    starts = [sum(line.startswith("attempt") for line in _notes(folder, worker)) for worker in range(workers)]
    return "" if starts == [2] * workers else f"the workers were started {starts} times"


@contextlib.contextmanager
def _launched(folder: pathlib.Path, workers: int, *options: str, restarts: int) -> Iterator[subprocess.Popen]:
    """`stratax launch`, and at the end nothing of it."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "stratax.cli", "launch", "--workers", str(workers)]
    command += ["--devices-per-worker", "1", "--restarts", str(restarts), "--timeout", "280"]
    command += ["-m", "tests.stress.killed_fit", str(folder), *options]
    ours = ("STRATAX_", "JAX_", "XLA_", "TF_CONFIG", "PJRT_NPROC", "NPROC", "KERAS_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    process = subprocess.Popen(
        command,
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


def _notes(folder: pathlib.Path, worker: int) -> list[str]:
    path = folder / f"worker{worker}.steps"
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Runs them all, one after the other.

    Returns:
        The exit status: 0 if every run ended well.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    good = 0
    with tempfile.TemporaryDirectory(prefix="stratax-killed-fits-") as name:
        folder = pathlib.Path(name)
        undisturbed(folder / "standard", options.workers)
        for number in range(options.runs):
            run = folder / str(number)
            if number % 4 == 3:
                save = chance.randrange(1, SAVES)
                what, problem = f"chief killed in save {save}", killed_in_save(run, options.workers, save)
            else:
                victim, step = chance.randrange(options.workers), chance.randrange(STEPS - 8)
                what = f"worker {victim} killed at step {step}"
                problem = killed_at_step(run, options.workers, victim, step)
            problem = problem or ", ".join(differences(run, folder / "standard", options.workers))
            good += not problem
            print(f"run {number}: {what}: {problem or 'as undisturbed'}", flush=True)
    print(f"{good} of {options.runs} runs of {options.workers} workers as undisturbed")
    return 0 if good == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
