"""The devices of this machine are counted without starting JAX."""

import types

import pytest

from stratax.cluster import _physical


@pytest.mark.parametrize(
    ("plugins", "cuda", "expected"),
    [((), 5, 0), (("cuda",), 5, 5), (("cuda",), None, None), (("rocm",), 5, None)],
)
def test_gpus_are_counted_without_starting_jax(monkeypatch, plugins, cuda, expected):
    monkeypatch.setattr(_physical, "find_simulated", lambda: None)
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "_plugins", lambda: frozenset(plugins))
    monkeypatch.setattr(_physical, "_count_cuda", lambda: cuda)
    values = {"jax_platforms": None, "jax_num_cpu_devices": -1}
    monkeypatch.setattr(_physical, "jax", types.SimpleNamespace(config=types.SimpleNamespace(values=values)))
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
    assert _physical.find_known_count("GPU") == expected
    assert _physical.find_known_count("CPU") == 4
    values["jax_platforms"] = "cpu"
    assert _physical.find_known_count("GPU") == _physical.find_known_count("TPU") == 0


@pytest.mark.parametrize(
    ("library", "chips", "forced", "expected"),
    [(None, 4, False, 0), ("libtpu", 0, False, 0), ("libtpu", 4, False, None), ("libtpu", 0, True, None)],
)
def test_a_library_that_only_compiles_for_tpus_does_not_start_jax(
    monkeypatch, library, chips, forced, expected
):
    monkeypatch.setattr(_physical, "find_simulated", lambda: None)
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "_plugins", frozenset)
    monkeypatch.setattr(_physical.importlib.util, "find_spec", lambda name: library)
    monkeypatch.setattr(
        _physical.hardware_utils, "num_available_tpu_chips_and_device_id", lambda: (chips, None)
    )
    values = {"jax_platforms": None}
    monkeypatch.setattr(_physical, "jax", types.SimpleNamespace(config=types.SimpleNamespace(values=values)))
    if forced:
        monkeypatch.setenv("JAX_FORCE_TPU_INIT", "1")
    assert _physical.find_known_count("TPU") == expected


def test_the_driver_of_nvidia_is_asked_where_there_is_one():
    # None here: no driver, or one that answers.
    assert _physical._count_cuda() in range(1000)
    assert (_physical.cuda_memory(0) or 2**40) > 2**20
