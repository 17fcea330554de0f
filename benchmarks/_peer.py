"""A program in a process of its own, TensorFlow's mostly, measured in turns with Stratax."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

_PYTHON = "STRATAX_BENCH_TENSORFLOW"
_PYTHON_WITH_ESTIMATOR = "STRATAX_BENCH_ESTIMATOR"
_CHECK = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
_SERVE = """
import json, os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
{program}
for line in sys.stdin:
    count, *what = line.split()
    for _ in range(int(count)):
        run(*what)
    print(json.dumps(time.process_time()), flush=True)
"""

Run = Callable[..., float]
"""Does a piece of work so many times over there, of the kind that a further argument names.

Returns the seconds of processor time that the other process has taken since it began.
"""


class NotInstalledError(RuntimeError):
    """The peer of a case is not installed."""


@contextlib.contextmanager
def tensorflow(program: str, *arguments: str) -> Iterator[Run]:
    """Runs TensorFlow's side of a comparison in another process.

    Args:
        program: Python code that defines a function `run()`, one piece of work, or `run(kind)` where there are several.
        *arguments: What the code finds in `sys.argv[1:]`.

    Yields:
        What does so many pieces of work over there and returns when they are done.

    Raises:
        NotInstalledError: There is no TensorFlow for this Python, nor for the one that $STRATAX_BENCH_TENSORFLOW names.
    """
    with process(tensorflow_python(), program, *arguments) as run:
        yield run


def tensorflow_python(*packages: str) -> str:
    """Return the Python that has TensorFlow.

    Args:
        *packages: What it has to have besides.

    Raises:
        NotInstalledError: There is none: neither this Python, nor the one that $STRATAX_BENCH_TENSORFLOW names.
    """
    python = os.environ.get(_PYTHON, sys.executable)
    missing = [package for package in ("tensorflow", *packages) if not _has(python, package)]
    if missing:
        raise NotInstalledError(
            f"not installed: {', '.join(missing)} (pip install 'stratax-train[bench]', or set {_PYTHON})"
        )
    return python


@contextlib.contextmanager
def estimator(program: str, *arguments: str) -> Iterator[Run]:
    """Runs TensorFlow's side in another process, with a TensorFlow that still has Estimator: 2.15 is the last.

    Args:
        program: As for `tensorflow`.
        *arguments: Likewise.

    Yields:
        What does so many pieces of work over there and returns when they are done.

    Raises:
        NotInstalledError: The Python that $STRATAX_BENCH_ESTIMATOR names has none.
    """
    with process(estimator_python(), program, *arguments) as run:
        yield run


def estimator_python() -> str:
    """Return the Python that has a TensorFlow with Estimator.

    Raises:
        NotInstalledError: There is none: neither this Python, nor the one that $STRATAX_BENCH_ESTIMATOR names.
    """
    python = os.environ.get(_PYTHON_WITH_ESTIMATOR, sys.executable)
    if not _has(python, "tensorflow_estimator"):
        raise NotInstalledError(
            f"not installed: tensorflow 2.15 with Estimator (set {_PYTHON_WITH_ESTIMATOR} to a Python that has it)"
        )
    return python


def _has(python: str, package: str) -> bool:
    return not subprocess.run([python, "-c", _CHECK, package], check=False).returncode


@contextlib.contextmanager
def process(python: str, program: str, *arguments: str) -> Iterator[Run]:
    """Runs one side of a comparison in another process.

    Args:
        python: The interpreter.
        program: As for `tensorflow`.
        *arguments: Likewise.

    Yields:
        What does so many pieces of work over there and returns when they are done.
    """
    peer = subprocess.Popen(
        [python, "-c", _SERVE.format(program=program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def run(count: int, *kind: str) -> float:
        assert peer.stdin is not None
        assert peer.stdout is not None
        print(count, *kind, file=peer.stdin, flush=True)
        line = peer.stdout.readline()
        if not line:
            raise RuntimeError(f"The other side's process ended with code {peer.wait()}.")
        return float(json.loads(line))

    try:
        yield run
    finally:
        peer.kill()
        peer.communicate()
