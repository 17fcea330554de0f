"""What every test shares: eight simulated devices, and the folder of shared data."""

import atexit
import gc
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator

from tests import halves, quick_xla

# Before anything imports JAX or Keras. A process has one number of devices, so every test gets eight; the tests
# that need another number or kind start a process of their own.
os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("STRATAX_SIMULATE", "cpu:8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Most of the time of these tests would be XLA's, which compiles thousands of tiny programs. `make test` leaves
# XLA_FLAGS empty, as users have it, for the tests that depend on its settings (the marker `exact`).
os.environ.setdefault("XLA_FLAGS", quick_xla.FLAGS)

# What several tests compile alike is compiled once: by pytest's workers and by what tests start, which inherit this.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="stratax-tests-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

import psutil
import pytest
from hypothesis import HealthCheck, settings

import stratax  # noqa: F401  (applies STRATAX_SIMULATE, whatever a test imports first)
from tests.cluster import forks

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent

# What the tests start has this checkout's package, and imports Keras quickly.
os.environ["PYTHONPATH"] = os.pathsep.join([str(CHECKOUT / "tests" / "startup"), str(CHECKOUT)])

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What Hypothesis tries is the same in every run and may take its time; `--hypothesis-profile=search` tries new things.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("reproducible", settings.get_profile("search"), derandomize=True)
settings.load_profile("reproducible")


def pytest_configure() -> None:
    """Has nobody look for garbage among tests that are being collected: what is made by then stays."""
    gc.disable()


def pytest_ignore_collect(collection_path: pathlib.Path, config: pytest.Config) -> bool | None:
    """Imports no file that has no test of this half."""
    return halves.leaves_out(config.getoption("markexpr"), collection_path) or None


def pytest_collection_finish() -> None:
    """Has collections of garbage look no more through what the tests import, which stays, and seldom at the rest."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder of data that is not part of the project: $STRATAX_SHARED, else `../shared` beside the checkout."""
    folder = pathlib.Path(os.environ.get("STRATAX_SHARED", CHECKOUT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared data folder {folder} is not here (set STRATAX_SHARED to its path)")
    return folder


@pytest.fixture(autouse=True)
def _outside_of_graphs() -> Iterator[None]:
    """A program that makes a session adds to a graph from then on; the next test is another program."""
    yield
    if (graph := sys.modules.get("stratax.tensorflow.graph")) is not None:
        graph.leave_program_graph()


@pytest.fixture(scope="session", autouse=True)
def _no_process_is_left() -> Iterator[None]:
    """No test leaves a process behind: neither one that it started, nor one that such a one started."""
    yield
    forks.close()
    gc.collect()  # Workers end with their iterators, of which an error that was raised may still hold some.
    deadline = time.monotonic() + 60
    while (left := _started()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == []


def _started() -> list[str]:
    """The command lines of this process' children, without those that look after their semaphores."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            line = " ".join(process.cmdline())
        except psutil.Error:  # It is just ending.
            continue
        if line and "resource_tracker" not in line:
            found.append(f"{process.pid}: {line}")
    return found
