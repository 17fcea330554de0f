"""Worker processes of `map`: how they start, what they import, and that none is left behind."""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import time

import cloudpickle
import jax
import keras
import numpy as np
import psutil
import pytest

from stratax.data import Dataset
from stratax.data.workers import _pool
from stratax.errors import WorkerError
from tests.data.processes import children, wait_until_none_is_left

pytestmark = pytest.mark.processes
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SECONDS = 60


def streaming(dataset):
    return dataset.filter(lambda *element: True)


@pytest.fixture(autouse=True)
def _none_of_another_test():
    assert wait_until_none_is_left() == []


@pytest.mark.parametrize("prepare", [lambda dataset: dataset, streaming], ids=["indexable", "streaming"])
def test_a_worker_that_is_killed_is_an_error_within_seconds(prepare):
    def function(i):
        if i == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    # What the function does in this process, for the spec, is harmless.
    dataset = prepare(Dataset.range(60)).map(function, num_processes=2)
    start = time.monotonic()
    with pytest.raises(
        WorkerError, match=r"died \(exit code .*SIGKILL.*element.* of .*function.* were not made"
    ):
        list(dataset)
    assert time.monotonic() - start < SECONDS
    assert wait_until_none_is_left() == []


def test_a_worker_that_is_killed_from_outside_is_an_error_within_seconds():
    iterator = iter(streaming(Dataset.range(10_000)).map(lambda i: (time.sleep(0.01), i)[1], num_processes=2))
    next(iterator)
    victim = children()[0]
    victim.kill()
    start = time.monotonic()
    with pytest.raises(WorkerError, match="A worker process of map died"):
        list(iterator)
    assert time.monotonic() - start < SECONDS
    state = iterator.get_state()
    assert state["position"] >= 1
    iterator.close()
    assert children() == []


def test_a_worker_that_does_not_start_is_an_error(monkeypatch):
    monkeypatch.setattr(_pool, "is_ready", functools.partial(time.sleep, 600))
    monkeypatch.setattr(_pool, "START_SECONDS", 0.0)
    monkeypatch.setattr(_pool, "POLL_SECONDS", 0.001)
    with pytest.raises(WorkerError, match="No worker process started. Expected: one within 0 s"):
        next(iter(Dataset.range(3).map(lambda i: i, num_processes=1)))
    assert wait_until_none_is_left() == []


def test_a_function_that_never_returns_is_an_error_and_its_process_ends(monkeypatch):
    monkeypatch.setattr(_pool, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(_pool, "POLL_SECONDS", 0.1)
    iterator = iter(streaming(Dataset.range(3)).map(sleeps_elsewhere(os.getpid()), num_processes=1))
    with pytest.raises(WorkerError, match="gave nothing for 0 s in a worker process.*none for element 0"):
        next(iterator)
    iterator.close()
    assert wait_until_none_is_left() == []


def sleeps_elsewhere(pid):
    def function(i):
        if os.getpid() != pid:
            time.sleep(600)
        return i

    return function


USES = {
    "NumPy": "np.square(x)",
    "images": "stratax.image.random_flip_left_right(stratax.image.resize(x, [4, 4]))",
    "TensorFlow's names": "tf.cast(tf.image.convert_image_dtype(x, tf.float32), tf.int32)",
}


@pytest.mark.parametrize("use", USES)
def test_a_worker_imports_neither_jax_nor_keras(use):
    # In this process both are imported, and devices are simulated.
    assert jax.devices()
    assert keras.backend.backend() == "jax"
    source = (
        "import sys\nimport numpy as np\nimport stratax.image\nimport stratax.tf as tf\n"
        f"def function(i):\n    x = np.full([2, 2, 3], i, np.uint8)\n    {USES[use]}\n"
        "    return [name in sys.modules for name in ('jax', 'keras')]\n"
    )
    names = {"__name__": "__main__"}
    exec(source, names)
    for element in Dataset.range(3).map(names["function"], num_processes=1):
        assert [bool(loaded) for loaded in element] == [False, False]


def test_a_worker_computes_on_the_cpu_with_one_thread():
    names = ["JAX_PLATFORMS", "OMP_NUM_THREADS", "STRATAX_SIMULATE"]
    dataset = Dataset.range(1).map(lambda i: ",".join(os.environ[name] for name in names), num_processes=1)
    assert list(dataset) == [b"cpu,1,"]


def test_workers_start_after_a_compiled_step_without_hanging():
    step = jax.jit(lambda x: x @ x)
    step(np.ones([64, 64], np.float32)).block_until_ready()
    with iter(
        Dataset.range(40).map(lambda i: np.full([8], i, np.float32), num_processes=4).batch(8)
    ) as batches:
        total = sum(float(step(np.outer(batch[:, 0], batch[:, 0]))[0, 0]) for batch in batches)
    assert total == 0.0 + sum(
        float((np.outer(b, b) @ np.outer(b, b))[0, 0]) for b in np.arange(40.0).reshape(5, 8)
    )


PROGRAM = """
print("main", flush=True)
import os, sys, time
from stratax.data import Dataset
def function(i):
    time.sleep(0.01)
    return i, os.getpid()
iterator = iter(Dataset.range(10**6).filter(lambda i: True).map(function, num_processes=2))
seen = set()
while len(seen) < 2:
    seen.add(int(next(iterator)[1]))
print("ready", flush=True)
sys.stdin.readline()
{then}
"""


def run(then, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(then=then))
    program = subprocess.Popen(
        [sys.executable, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=pathlib.Path(__file__).parents[3],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    assert program.stdout.readline() == "main\n"
    return program


def start(then, tmp_path):
    program = run(then, tmp_path)
    assert program.stdout.readline() == "ready\n"
    workers = children(program.pid)
    assert len(workers) == 2
    assert shared_memory(program, workers), "loky's semaphores are there while it runs"
    program.stdin.write("\n")
    program.stdin.flush()
    return program, workers


def shared_memory(program, workers):
    pids = {str(process.pid) for process in (program, *workers)}
    return [name for name in os.listdir("/dev/shm") if pids & set(name.split("-"))]


def assert_nothing_is_left(program, workers):
    assert psutil.wait_procs(workers, timeout=SECONDS)[1] == []
    end = time.monotonic() + SECONDS
    while shared_memory(program, workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert shared_memory(program, workers) == []


@pytest.mark.parametrize(
    ("then", "code"), [("", 0), ("raise ValueError", 1), ("del iterator; time.sleep(1); print(1)", 0)]
)
def test_the_end_of_the_program_ends_the_workers(then, code, tmp_path):
    program, workers = start(then, tmp_path)
    out, _ = program.communicate(timeout=100)
    assert program.returncode == code
    # A worker that imports the program would print this again.
    assert "main" not in out
    assert_nothing_is_left(program, workers)


def test_ctrl_c_ends_the_workers(tmp_path):
    program, workers = start("for i in iterator: pass\ntime.sleep(60)", tmp_path)
    os.killpg(program.pid, signal.SIGINT)
    _, err = program.communicate(timeout=100)
    assert program.returncode == -signal.SIGINT
    assert err.count("KeyboardInterrupt") == 1
    assert_nothing_is_left(program, workers)


def test_ctrl_c_while_the_workers_start_is_reported_by_the_program_alone(tmp_path):
    program = run("", tmp_path)
    end = time.monotonic() + 60
    while len(workers := children(program.pid)) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    for _ in range(50):  # Whatever they are doing: a new process takes a second to import what it needs.
        for worker in workers:
            worker.send_signal(signal.SIGINT)
        time.sleep(0.02)
    os.killpg(program.pid, signal.SIGINT)
    _, err = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT
    assert err.count("KeyboardInterrupt") == 1, err
    assert_nothing_is_left(program, workers)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(signal.SIGKILL, id="SIGKILL"),
        pytest.param(signal.SIGTERM, marks=pytest.mark.stress, id="SIGTERM"),
    ],
)
def test_a_program_that_is_killed_leaves_neither_workers_nor_shared_memory(sent, tmp_path):
    program, workers = start("for i in iterator: pass\ntime.sleep(60)", tmp_path)
    program.send_signal(sent)
    program.wait(100)
    assert_nothing_is_left(program, workers)
