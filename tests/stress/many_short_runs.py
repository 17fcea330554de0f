"""Starts many short training runs on simulated devices and reports those that hang or fail.

Run it from the root of the checkout: ``python -m tests.stress.many_short_runs --runs 300 --devices 8``. Each run is a
fresh process with a hard time limit; the exit status is 1 if any did not end well.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STARTUP_SECONDS = 60.0  # a run's own limit starts when it has imported everything
JAX_SETTINGS = (
    "STRATAX_SIMULATE",
    "JAX_NUM_CPU_DEVICES",
    "JAX_PLATFORMS",
    "NPROC",
    "PJRT_NPROC",
    "XLA_FLAGS",
)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How one run ended.

    Attributes:
        kind: ``"ok"``, ``"hung"`` (it had to be ended) or ``"failed"``.
        seconds: How long it took.
        output: The end of what it printed.
    """

    kind: str
    seconds: float
    output: str


def run_once(*, devices: int, steps: int, limit: float, threads: int | None = None) -> Outcome:
    """Starts one short run and waits for it.

    Args:
        devices: How many devices it simulates.
        steps: How many steps it trains.
        limit: After how many seconds it has hung: it prints its stacks and ends, or is killed a little later.
        threads: Overrides the threads that XLA's CPU client gets after Stratax has chosen; None: as chosen.

    Returns:
        How it ended.
    """
    command = [sys.executable, "-m", "tests.stress.short_run"]
    command += ["--devices", str(devices), "--steps", str(steps), "--seconds", str(limit)]
    command += [] if threads is None else ["--threads", str(threads)]
    # The run chooses everything about its devices itself, whatever the tests' own process was started with.
    environment = {name: value for name, value in os.environ.items() if name not in JAX_SETTINGS}
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit + STARTUP_SECONDS,
            check=False,
        )
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        status, output = None, str(error.output or b"")
    seconds = time.perf_counter() - started
    # The first line of what faulthandler prints when the limit is over.
    hung = status is None or "Timeout (" in output
    kind = "ok" if status == 0 and "OK loss" in output else "hung" if hung else "failed"
    return Outcome(kind=kind, seconds=seconds, output=output[-4000:])


def main() -> int:
    """Runs them all, one after the other.

    Returns:
        The exit status: 0 if every run ended well.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a run has hung")
    parser.add_argument("--threads", type=int, help="XLA's threads, to see that too few do hang")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    seconds = []
    for number in range(1, options.runs + 1):
        outcome = run_once(
            devices=options.devices, steps=options.steps, limit=options.limit, threads=options.threads
        )
        counts[outcome.kind] += 1
        seconds.append(outcome.seconds)
        if outcome.kind != "ok":
            print(f"run {number} {outcome.kind} after {outcome.seconds:.1f} s\n{outcome.output}", flush=True)
        elif number % 25 == 0:
            print(f"{number} runs: {dict(counts)}", flush=True)
    mean = sum(seconds) / len(seconds)
    print(
        f"{options.runs} runs with {options.devices} devices on {os.cpu_count()} cores: {dict(counts)}; "
        f"{mean:.1f} s each, {max(seconds):.1f} s at most"
    )
    return 0 if counts["ok"] == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
