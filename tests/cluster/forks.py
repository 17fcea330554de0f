"""Runs Python as forks of a process that has imported JAX and Keras, which would take each some seconds.

    process = start([program, *arguments], environment, cwd, out, err)
    done = run(["-m", "stratax.cli", "devices"], environment)

A fork is a process of its own, in its own session, that does what `python` with the same arguments would. Its parent
has imported modules and nothing more: it has no thread and no JAX backend, which a fork would lose. Two parents take
turns, so that the two tasks of a cluster hash strings differently, as processes do that nobody forked.
"""

import gc
import importlib
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent.parent
MODULE = "tests.cluster.forks"

# What these read of the environment they read when they are imported, or may.
_READ_AT_IMPORT = ("JAX_", "KERAS_", "XLA_", "PYTHON", "TF_CPP_", "LD_")
# What is imported before the fork. Nothing of it starts a thread (NumPy's OpenBLAS doesn't when it may have only one)
# or changes how logs are written (as Orbax does).
_IMPORTED = ("jax", "jax.experimental.multihost_utils", "keras", "malt", "asyncio", "cloudpickle")
_PARENTS = 2


class Fork:
    """A process that runs a program; what `subprocess.Popen` has of it.

    Attributes:
        pid: Its process id.
        returncode: How it ended; negative for a signal. None as long as nobody has seen it end.
    """

    def __init__(self, parent, pid):
        self._parent = parent
        self.pid = pid
        self.returncode = None

    def poll(self):
        """Returns the exit code, or None while it runs."""
        if self.returncode is None:
            self.returncode = self._parent.ask(poll=self.pid)
        return self.returncode

    def wait(self):
        """Waits until it has ended."""
        while self.poll() is None:
            time.sleep(0.005)
        return self.returncode

    def send_signal(self, number):
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class _Parent:
    """The process that forks, seen from the one that asks for it."""

    def __init__(self, environment):
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"import {MODULE} as forks; exec(forks.serve({theirs.fileno()}))"],
                stdin=subprocess.DEVNULL,
                env=environment,
                cwd=CHECKOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the tests.
            )
        self._link = ours.makefile("rw")
        ours.close()

    def ask(self, **request):
        self._link.write(json.dumps(request) + "\n")
        self._link.flush()
        answer = self._link.readline()
        if not answer:
            raise RuntimeError(
                f"The process that forks tasks has ended. Received: exit code {self._process.wait()}"
            )
        return json.loads(answer)

    def close(self):
        self._link.close()
        self._process.wait()


_parents = {}
_turns = itertools.count()


def environment_of_a_task():
    """The environment of a task that can be forked: without the settings of this process, with those of all tasks."""
    ours = ("STRATAX_", "JAX_", "XLA_", "TF_CONFIG", "PJRT_NPROC", "NPROC", "KERAS_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return inherited | {
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": os.environ["XLA_FLAGS"],  # Those that compile quickly: tests/conftest.py.
        **_where_programs_are_kept(),
        "PYTHONUNBUFFERED": "1",
    }


def _where_programs_are_kept():
    """JAX's settings of where compiled programs are kept for all tests: tests/conftest.py."""
    names = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
    return {name: os.environ[name] for name in names if name in os.environ}


def run(arguments, environment, *, cwd=CHECKOUT, timeout=240):
    """Returns what `subprocess.run([sys.executable, *arguments])` does, its outputs captured as text."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = pathlib.Path(folder, "out"), pathlib.Path(folder, "err")
        process = start(arguments, environment, cwd, out, err)
        end = time.monotonic() + timeout
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise subprocess.TimeoutExpired(arguments, timeout, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(arguments, process.returncode, out.read_text(), err.read_text())


def start(arguments, environment, cwd, out, err, *, before=()):
    """Starts `python` with arguments: a file, `-c` or `-m`, and what follows. It writes to the files `out` and `err`.

    It is no fork if a command is to run it (`before`), or if its environment has other settings for what a fork has
    imported already.
    """
    arguments = [str(argument) for argument in arguments]
    environment = _where_programs_are_kept() | environment
    expected = environment_of_a_task()
    if before or _read_at_import(environment) != _read_at_import(expected):
        with open(out, "wb") as output, open(err, "wb") as errors:
            return subprocess.Popen(
                [*before, sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
    turn = next(_turns) % _PARENTS
    if turn not in _parents:
        _parents[turn] = _Parent(expected | {"OPENBLAS_NUM_THREADS": "1"})
    for file in (out, err):
        pathlib.Path(file).touch()  # Whoever reads them may be quicker than the fork.
    request = [arguments, environment, str(cwd), str(out), str(err)]
    return Fork(_parents[turn], _parents[turn].ask(start=request))


def _read_at_import(environment):
    # The folders of PYTHONPATH are those of the checkout, wherever one is given.
    ignored = {"PYTHONPATH", "PYTHONUNBUFFERED"}
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_IMPORT) and name not in ignored
    }


def close():
    """Ends the processes that fork."""
    for parent in _parents.values():
        parent.close()
    _parents.clear()


def serve(descriptor):
    """Forks whenever it is asked to. Returns only in the fork: the code of the program, with all in place to run it."""
    for name in _IMPORTED:
        importlib.import_module(name)
    if len(threads := os.listdir("/proc/self/task")) > 1:
        raise RuntimeError(
            f"What is imported before a fork must start no thread. Received: {len(threads)} threads"
        )
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as link, link.makefile("rw") as lines:
        for line in lines:
            request = json.loads(line)
            if "start" in request:
                pid = _fork()
                if pid == 0:
                    break
                answer = pid
            else:
                answer = _ended(request["poll"])
            lines.write(json.dumps(answer) + "\n")
            lines.flush()
        else:
            sys.exit()
    return _become(*request["start"])


def _fork():
    """Forks; in the parent, returns once the child has a session of its own."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(ready)
        os.close(tell)
        return 0
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    return pid


def _ended(pid):
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(arguments, environment, cwd, out, err):
    """Makes of a fork what `python` is when it begins to run a program; returns the program's code."""
    import numpy as np

    np.random.seed(None)  # Python's own generators do this by themselves.
    tempfile.tempdir = None
    for descriptor, path in ((1, out), (2, err)):
        to = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(to, descriptor)
        os.close(to)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    main = sys.modules["__main__"]
    del main.forks
    sys.path[0] = ""
    program, *rest = arguments
    if program in ("-c", "-m"):
        sys.argv = [program, *rest[1:]]
        source = rest[0] if program == "-c" else f"import runpy; runpy._run_module_as_main({rest[0]!r})"
        return compile(source, "<string>", "exec")
    sys.argv = arguments
    sys.path[0] = str(pathlib.Path(program).parent)
    main.__file__ = program
    return compile(pathlib.Path(program).read_bytes(), program, "exec")
