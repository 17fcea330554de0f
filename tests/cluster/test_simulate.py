"""Simulated devices: what is asked for, when it is too late, and that nothing starts by itself."""

import os
import subprocess
import sys

import pytest

from stratax.cluster import (
    SimulatedDevices,
    is_simulated,
    parse_specification,
    simulate_devices,
    simulated_kind,
)
from stratax.errors import BadTypeError, SimulationError


def run_python(code, **environment):
    """Runs `code` in a fresh process with no simulation of its own; returns what it printed."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"STRATAX_SIMULATE", "JAX_NUM_CPU_DEVICES", "JAX_PLATFORMS", "NPROC", "PJRT_NPROC"}
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | {"KERAS_BACKEND": "jax"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ("tpu:8", SimulatedDevices(kind="TPU", count=8)),
        (" GPU : 2 ", SimulatedDevices(kind="GPU", count=2)),
        ("Cpu:1", SimulatedDevices(kind="CPU", count=1)),
    ],
)
def test_a_specification_names_kind_and_count(specification, expected):
    assert parse_specification(specification) == expected


@pytest.mark.parametrize("specification", ["", "tpu", "8", "tpu:", "tpu:-1", "tpu:8:2", "tpu=8", "tpu:1.5"])
def test_a_specification_of_another_form_is_refused(specification):
    with pytest.raises(SimulationError, match=r"given as kind:count, for example tpu:8.*specification="):
        parse_specification(specification)


@pytest.mark.parametrize(("specification", "message"), [("npu:8", "kind='NPU'"), ("tpu:0", "count=0")])
def test_a_specification_of_what_cannot_be_simulated_is_refused(specification, message):
    with pytest.raises(SimulationError, match=message):
        parse_specification(specification)


@pytest.mark.parametrize(
    ("count", "kind", "message"), [(2.0, "TPU", "count=2.0"), (True, "TPU", "True"), (2, 3, "kind=3")]
)
def test_arguments_of_a_wrong_type_are_refused(count, kind, message):
    with pytest.raises(BadTypeError, match=message):
        simulate_devices(count, kind)


def test_asking_for_what_is_simulated_already_does_nothing_even_after_jax_started():
    import jax

    devices = jax.devices()
    assert (is_simulated(), simulated_kind(), len(devices)) == (True, "CPU", 8)
    simulate_devices(8, "cpu")
    assert jax.devices() == devices


def test_after_jax_has_started_it_raises_and_says_what_to_do():
    import jax

    jax.devices()
    with pytest.raises(
        SimulationError,
        match=r"JAX has started already.*before anything that uses JAX.*STRATAX_SIMULATE=tpu:4",
    ):
        simulate_devices(4, "TPU")
    assert simulated_kind() == "CPU"


@pytest.mark.processes
def test_simulating_starts_nothing_and_the_last_request_before_jax_starts_wins():
    printed = run_python(
        "import os, jax\n"
        "from stratax.cluster import simulate_devices, simulated_kind, list_logical_devices\n"
        "simulate_devices(4)\n"
        "simulate_devices(3, 'gpu')\n"
        "jax.config.update('jax_num_cpu_devices', 3)\n"  # JAX refuses this once it has started
        "print(simulated_kind(), len(jax.devices()), jax.devices()[0].platform)\n"
        "print([device.name for device in list_logical_devices()])\n"
    )
    assert printed.splitlines() == [
        "GPU 3 cpu",
        "['/device:CPU:0', '/device:GPU:0', '/device:GPU:1', '/device:GPU:2']",
    ]


@pytest.mark.processes
def test_the_environment_variable_is_applied_at_import_and_gives_xla_threads_to_wait_with():
    printed = run_python(
        "import os, jax, stratax\n"
        "jax.config.update('jax_num_cpu_devices', 8)\n"
        "print(len(jax.devices()), stratax.cluster.simulated_kind(), int(os.environ['PJRT_NPROC']) > 8)\n",
        STRATAX_SIMULATE="tpu:8",
    )
    assert printed.split() == ["8", "TPU", "True"]


@pytest.mark.processes
def test_a_larger_number_of_threads_that_the_user_chose_stays():
    printed = run_python(
        "import os\n"
        "from stratax.cluster import simulate_devices\n"
        "simulate_devices(2)\n"
        "print(os.environ['PJRT_NPROC'])\n",
        PJRT_NPROC="99",
    )
    assert printed.strip() == "99"


@pytest.mark.processes
def test_a_bad_environment_variable_is_refused_at_import():
    printed = run_python(
        "try:\n    import stratax\nexcept ValueError as error:\n    print(error)\n", STRATAX_SIMULATE="eight"
    )
    assert "environment variable STRATAX_SIMULATE" in printed
    assert "specification='eight'" in printed
