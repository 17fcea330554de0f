"""glibc keeps the memory of a program's temporary arrays. Each test asks a fresh process."""

import os
import platform
import subprocess
import sys

import pytest

from stratax.startup import malloc

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of glibc's allocator"),
]

# Each step has temporary arrays of 128 MiB: 32,768 pages.
PROBE = """
import resource
import jax
import jax.numpy as jnp
import numpy as np

x = np.ones((4096, 4096), np.float32)
step = jax.jit(lambda x: ((x * 2) @ x[:, :8], (x + 1).T @ x[:, :8]))
for _ in range(12):
    jax.block_until_ready(step(x))
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    jax.block_until_ready(step(x))
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 5)
"""


def faults_of_a_step(first="import stratax", **variables):
    """The page faults of one step in a fresh process."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))
    }
    done = subprocess.run(
        [sys.executable, "-c", f"{first}\n{PROBE}"],
        env=inherited | {"JAX_PLATFORMS": "cpu"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout.splitlines()[-1])


@pytest.mark.stress
def test_temporary_arrays_lie_in_memory_of_the_step_before():
    assert faults_of_a_step(first="") > 10_000, "JAX alone needs no settings any more: take them out."
    # A kernel that reclaims idle pages, when memory is short, causes faults of its own: the quietest of three counts.
    assert any(faults_of_a_step() < 2_000 for _ in range(3))


def test_a_user_who_sets_the_allocator_up_decides():
    assert faults_of_a_step(MALLOC_ARENA_MAX="8") > 10_000


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"PATH": "/bin", "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}, False),
        ({"MALLOC_TRIM_THRESHOLD_": "100000"}, True),
        ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, True),
        ({"LD_PRELOAD": "libjemalloc.so.2"}, True),
    ],
)
def test_settings_of_the_user_are_recognized(environment, expected):
    assert malloc._is_set_up(environment) is expected


@pytest.mark.parametrize(
    ("is_there", "environment", "expected"),
    [
        (True, {}, True),
        (True, {"JAX_PLATFORMS": "cuda,cpu"}, True),
        (True, {"JAX_PLATFORMS": "cpu"}, False),
        (False, {}, False),
    ],
)
def test_an_accelerator_that_is_used_is_recognized(tmp_path, monkeypatch, is_there, environment, expected):
    device = tmp_path / "device"
    monkeypatch.setattr(malloc, "_ACCELERATORS", (str(device),))
    if is_there:
        device.touch()
    assert malloc._uses_accelerator(environment) is expected
