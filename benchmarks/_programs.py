"""Programs that say `import tensorflow`, each as one file, run by `stratax run` and by TensorFlow 2.15."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

from benchmarks import _measure, _peer

_PROGRAMS = pathlib.Path(__file__).parent / "programs"
_CHECKOUT = _PROGRAMS.parents[1]
_STARTS = 3
_WARM_UP = 3
_LIMIT_SECONDS = 60.0


def stepping(program: str, plan: _measure.Plan) -> _measure.Figure:
    """How many times as fast a step of a program is as TensorFlow's, its input included."""
    with _started(program) as (ours, theirs):
        for side in (ours, theirs):
            side.train(_WARM_UP)
        ours_seconds, theirs_seconds = _measure.in_turns(ours.train, theirs.train, plan=plan)
    return _measure.ratio(
        theirs_seconds, ours_seconds, unit="ms", numerator="tensorflow", denominator="stratax"
    )


def starting(program: str, plan: _measure.Plan) -> _measure.Figure:
    """The processor seconds from the start of a program to the end of its first step, against TensorFlow's."""
    found = []
    for _ in range(min(plan.processes, _STARTS)):
        with _started(program) as (ours, theirs):
            found.append((ours.first_step_s, theirs.first_step_s))
    return _measure.ratio(
        *map(list, zip(*found, strict=True)), unit="s", numerator="stratax", denominator="tensorflow"
    )


class _Program:
    """A program that trains by turns, in a process of its own.

    Args:
        python: The interpreter.
        *arguments: Its arguments.

    Attributes:
        first_step_s: The processor seconds until its first step was done, its imports included.
    """

    def __init__(self, python: str, *arguments: str) -> None:
        # Packages are installed with their bytecode; a checkout that may not write its own would start slowly.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            [python, *arguments],
            env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(_CHECKOUT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.first_step_s = self._wait()

    def train(self, steps: int) -> None:
        """Make so many steps."""
        assert self._process.stdin is not None
        print(steps, file=self._process.stdin, flush=True)
        self._wait()

    def stop(self) -> None:
        """End the training."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_LIMIT_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()

    def _wait(self) -> float:
        """Wait for the end of a turn, and return the processor seconds that the process has taken by then."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"A program ended with code {self._process.wait(_LIMIT_SECONDS)}.")
        return float(json.loads(line)["processor_s"])


@contextlib.contextmanager
def _started(program: str) -> Iterator[tuple[_Program, _Program]]:
    """Start a program, a file and its arguments, on both sides, one after the other."""
    name, *arguments = program.split()
    command = [str(_PROGRAMS / f"{name}.py"), *arguments]
    with contextlib.ExitStack() as stack:
        sides = []
        for line in ((sys.executable, "-m", "stratax", "run"), (_peer.estimator_python(),)):
            sides.append(_Program(*line, *command))
            stack.callback(sides[-1].stop)
        yield sides[0], sides[1]
