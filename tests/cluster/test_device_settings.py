"""GPUs are hidden, divided and limited by `tf.config`'s functions, before JAX starts."""

import jax
import pytest

import stratax.tf as tf
from stratax.cluster import _device_settings, _physical, settings
from tests.cluster import simulated

CPU = tf.config.PhysicalDevice("/physical_device:CPU:0", "CPU")
GPUS = [tf.config.PhysicalDevice(f"/physical_device:GPU:{index}", "GPU") for index in range(3)]


@pytest.fixture
def before_the_start_with_gpus(monkeypatch):
    """Three GPUs of NVIDIA in a process whose JAX has not started; returns what JAX is told."""
    told = {}
    simulated.replace(monkeypatch, None)
    monkeypatch.setattr(_physical, "_counts", _physical._Counts({"GPU": 3, "CPU": 1, "TPU": 0}))
    monkeypatch.setattr(_physical, "has_started", lambda: False)
    monkeypatch.setattr(_physical, "cuda_memory", lambda index: 16 * 2**30)
    monkeypatch.setattr(_device_settings, "_settings", _device_settings._Settings())
    monkeypatch.setattr(jax.config, "update", told.__setitem__)
    for name in (
        "XLA_PYTHON_CLIENT_PREALLOCATE",
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        "XLA_CLIENT_MEM_FRACTION",
    ):
        monkeypatch.setenv(name, "before")
    return told


def test_gpus_are_hidden_from_jax_and_keep_their_names(before_the_start_with_gpus):
    tf.config.set_visible_devices(GPUS[1:], "GPU")
    assert before_the_start_with_gpus == {"jax_cuda_visible_devices": "1,2"}
    assert tf.config.get_visible_devices("GPU") == GPUS[1:]
    assert tf.config.list_physical_devices("GPU") == GPUS
    tf.config.experimental.set_visible_devices(GPUS[2])
    assert before_the_start_with_gpus == {"jax_cuda_visible_devices": "2"}
    tf.config.set_visible_devices([], "GPU")
    assert before_the_start_with_gpus["jax_platforms"] == "cpu"
    assert tf.config.get_visible_devices() == [CPU]


def test_the_memory_of_gpus_grows_or_has_a_limit(before_the_start_with_gpus, monkeypatch):
    tf.config.experimental.set_memory_growth(GPUS[0], True)
    assert settings.get_memory_growth(GPUS[0])
    assert not settings.get_memory_growth(GPUS[1])
    assert _device_settings.os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=4096)
    tf.config.set_logical_device_configuration(GPUS[0], [limit])
    assert _device_settings.os.environ["XLA_CLIENT_MEM_FRACTION"] == "0.250000"
    assert "XLA_PYTHON_CLIENT_MEM_FRACTION" not in _device_settings.os.environ
    monkeypatch.setattr(_physical, "has_started", lambda: True)
    # As it is already.
    tf.config.experimental.set_memory_growth(GPUS[0], True)
    with pytest.raises(RuntimeError, match=r"JAX has started already.*growth of a GPU's memory"):
        tf.config.experimental.set_memory_growth(GPUS[1], True)
    with pytest.raises(RuntimeError, match=r"JAX has started already.*devices can be hidden"):
        tf.config.set_visible_devices(GPUS[0], "GPU")


def test_settings_that_devices_cannot_have_are_refused(before_the_start_with_gpus, monkeypatch):
    one = tf.config.LogicalDeviceConfiguration()
    with pytest.raises(ValueError, match=r"Memory growth is a setting of GPUs"):
        tf.config.experimental.set_memory_growth(CPU, True)
    with pytest.raises(ValueError, match=r"one of those that list_physical_devices.*device='GPU:0'"):
        tf.config.experimental.set_memory_growth("GPU:0", True)
    with pytest.raises(ValueError, match=r"This host has no such device.*GPU:9"):
        tf.config.experimental.get_memory_growth(tf.config.PhysicalDevice("/physical_device:GPU:9", "GPU"))
    with pytest.raises(ValueError, match=r"not of the kind.*'CPU'"):
        tf.config.set_visible_devices(GPUS, "CPU")
    with pytest.raises(ValueError, match=r"needs a limit of its memory in MiB"):
        tf.config.set_logical_device_configuration(GPUS[0], [one])
    with pytest.raises(ValueError, match=r"of a CPU has no settings"):
        tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration(3)])
    with pytest.raises(ValueError, match=r"one at least"):
        tf.config.set_logical_device_configuration(CPU, [])
    two = [tf.config.LogicalDeviceConfiguration(1024)] * 2
    with pytest.raises(RuntimeError, match=r"one device for each GPU.*simulate_devices\(2, kind='GPU'\)"):
        tf.config.set_logical_device_configuration(GPUS[0], two)
    monkeypatch.setattr(_physical, "cuda_memory", lambda index: None)
    with pytest.raises(RuntimeError, match=r"can't be found out.*XLA_CLIENT_MEM_FRACTION"):
        tf.config.set_logical_device_configuration(GPUS[0], two[:1])


def test_simulated_devices_are_neither_hidden_nor_divided():
    devices = tf.config.list_physical_devices()
    assert tf.config.get_visible_devices() == devices
    tf.config.set_visible_devices([], "GPU")
    tf.config.set_visible_devices(devices, "CPU")
    with pytest.raises(RuntimeError, match=r"simulated already.*2 logical devices"):
        tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * 2)
    assert tf.config.get_logical_device_configuration(CPU) is None


def test_memory_in_use_and_details_are_told_by_jax(monkeypatch):
    assert settings.get_memory_info("CPU:0") == {"current": 0, "peak": 0}
    assert settings.get_device_details(CPU) == {}

    class Gpu:
        device_kind, platform, compute_capability = "NVIDIA H200", "gpu", "9.0"

        def memory_stats(self):
            return {"bytes_in_use": 3, "peak_bytes_in_use": 5}

    monkeypatch.setattr(_device_settings, "resolve_device", lambda device: Gpu())
    assert tf.config.experimental.get_memory_info("GPU:0") == {"current": 3, "peak": 5}
    assert tf.config.experimental.get_memory_usage("GPU:0") == 3
    simulated.replace(monkeypatch, None)
    monkeypatch.setattr(_physical, "_counts", _physical._Counts({"GPU": 1}))
    monkeypatch.setattr(_device_settings, "local_devices", lambda kind: [Gpu()])
    assert settings.get_device_details(GPUS[0]) == {
        "device_name": "NVIDIA H200",
        "compute_capability": (9, 0),
    }
