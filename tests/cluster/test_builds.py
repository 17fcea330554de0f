"""What programs ask about the installation."""

import platform

import pytest

import stratax.tf as tf
from stratax.cluster import SimulatedDevices, _builds, _physical
from tests.cluster import simulated


def test_gpus_are_there_if_they_are_simulated(monkeypatch):
    assert (tf.test.is_gpu_available(), tf.test.gpu_device_name()) == (False, "")
    simulated.replace(monkeypatch, SimulatedDevices(kind="GPU", count=8))
    assert (tf.test.is_gpu_available(), tf.test.gpu_device_name()) == (True, "/device:GPU:0")
    assert not tf.test.is_gpu_available(cuda_only=True)


def test_a_compute_capability_is_compared(monkeypatch):
    class Gpu:
        compute_capability = "8.6"

    monkeypatch.setattr(_builds, "local_devices", lambda kind: [Gpu()])
    assert tf.test.is_gpu_available(cuda_only=True)
    assert tf.test.is_gpu_available(min_cuda_compute_capability=(8, 0))
    assert not tf.test.is_gpu_available(min_cuda_compute_capability=(9, 0))


def test_the_installation_is_for_the_platforms_whose_plugins_it_has(monkeypatch):
    monkeypatch.setattr(_physical, "_plugins", lambda: frozenset(["cuda", "jax_rocm7_plugin"]))
    monkeypatch.setattr(
        _builds, "_find_installed", lambda packages: "12.9" if "cu12" in packages[0] else None
    )
    assert tf.test.is_built_with_cuda()
    assert tf.test.is_built_with_rocm()
    assert tf.test.is_built_with_gpu_support()
    assert tf.sysconfig.get_build_info() == {
        "is_cuda_build": True,
        "is_rocm_build": True,
        "is_tensorrt_build": False,
        "cuda_version": "12.9",
        "cudnn_version": "12.9",
    }
    monkeypatch.setattr(_physical, "_plugins", frozenset)
    assert not tf.test.is_built_with_gpu_support()
    assert "cuda_version" not in tf.sysconfig.get_build_info()
    assert tf.test.is_built_with_xla()


def test_a_version_is_that_of_the_first_package_that_is_installed():
    assert _builds._find_installed(("no-such-package", "jax")) == __import__("jax").__version__
    assert _builds._find_installed(("no-such-package",)) is None


def test_xla_compiles_for_this_host():
    targets = ("aarch64", "arm", "ppc", "systemz", "x86")
    assert [tf.test.is_cpu_target_available(target) for target in targets].count(True) == 1
    assert tf.test.is_cpu_target_available("x86") == (platform.machine() in ("x86_64", "AMD64", "i686"))
    with pytest.raises(ValueError, match="one of aarch64.*target='sparc'"):
        tf.test.is_cpu_target_available("sparc")
