"""TensorFlow in a process of its own, measured in turns with Stratax."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator

from benchmarks import _measure

_PYTHON = "STRATAX_BENCH_TENSORFLOW"
_CHECK = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tensorflow') is None)"
_SERVE = """
import json, os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
{program}
for line in sys.stdin:
    for _ in range(int(line)):
        run()
    print(json.dumps("done"), flush=True)
"""


class NotInstalledError(RuntimeError):
    """The peer of a case is not installed."""


@contextlib.contextmanager
def tensorflow(program: str, *arguments: str) -> Iterator[_measure.Run]:
    """Runs TensorFlow's side of a comparison in another process.

    Args:
        program: Python code that defines a function `run()`, one piece of work.
        *arguments: What the code finds in `sys.argv[1:]`.

    Yields:
        What does so many pieces of work over there and returns when they are done.

    Raises:
        NotInstalledError: There is no TensorFlow for this Python, nor for the one that $STRATAX_BENCH_TENSORFLOW names.
    """
    python = os.environ.get(_PYTHON, sys.executable)
    if subprocess.run([python, "-c", _CHECK], check=False).returncode:
        raise NotInstalledError(
            f"not installed: tensorflow (install the extra bench of stratax, or set {_PYTHON})"
        )
    process = subprocess.Popen(
        [python, "-c", _SERVE.format(program=program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )

    def run(count: int) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        print(count, file=process.stdin, flush=True)
        if json.loads(process.stdout.readline() or "null") != "done":
            raise RuntimeError(f"TensorFlow's process ended with code {process.wait()}.")

    try:
        yield run
    finally:
        process.kill()
        process.communicate()
