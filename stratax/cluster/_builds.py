"""What this installation can use, as `tf.test` and `tf.sysconfig` tell it (cluster layer)."""

import contextlib
import importlib.metadata
from typing import Any

from stratax.base.shown import shown
from stratax.cluster import _physical
from stratax.cluster._devices import list_logical_devices, list_physical_devices, local_devices
from stratax.errors import BadArgumentError

# The Python packages with NVIDIA's libraries.
_NVIDIA = {
    "cuda_version": ("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"),
    "cudnn_version": ("nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
}


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Return whether there is a GPU, real or simulated, as ``tf.test.is_gpu_available``.

    Args:
        cuda_only: Whether only NVIDIA's count.
        min_cuda_compute_capability: The least compute capability of a GPU that counts; simulated ones have none.
    """
    if not (cuda_only or min_cuda_compute_capability):
        return bool(list_physical_devices("GPU"))
    capabilities = [getattr(device, "compute_capability", None) for device in local_devices("GPU")]
    numbers = [tuple(int(part) for part in text.split(".")) for text in capabilities if text]
    least = min_cuda_compute_capability or (0, 0)
    return any(number >= tuple(least) for number in numbers)


def gpu_device_name() -> str:
    """Return the name of the first GPU, an empty string if there is none, as ``tf.test.gpu_device_name``."""
    return next((found.name for found in list_logical_devices("GPU")), "")


def is_built_with_cuda() -> bool:
    """Return whether JAX is installed with its plugin for GPUs of NVIDIA."""
    return _physical.has_plugin("cuda")


def is_built_with_rocm() -> bool:
    """Return whether JAX is installed with its plugin for GPUs of AMD."""
    return _physical.has_plugin("rocm")


def is_built_with_gpu_support() -> bool:
    """Return whether JAX is installed with a plugin for GPUs."""
    return is_built_with_cuda() or is_built_with_rocm()


def is_built_with_xla() -> bool:
    """Return True: all programs are compiled by XLA."""
    return True


def is_cpu_target_available(target: str) -> bool:
    """Return whether XLA compiles for a family of CPUs here: that of this host.

    Args:
        target: ``"aarch64"``, ``"arm"``, ``"ppc"``, ``"systemz"`` or ``"x86"``.

    Raises:
        BadArgumentError: `target` is none of these.
    """
    import platform

    families = {
        "aarch64": ("aarch64", "arm64"),
        "arm": ("armv7l",),
        "ppc": ("ppc64le",),
        "systemz": ("s390x",),
        "x86": ("x86_64", "AMD64", "i686"),
    }
    if target not in families:
        raise BadArgumentError(f"Expected: one of {', '.join(families)}. Received: target={shown(target)}.")
    return platform.machine() in families[target]


def get_build_info() -> dict[str, Any]:
    """Return which kinds of GPU the installation is for, as ``tf.sysconfig.get_build_info``.

    Returns:
        `"is_cuda_build"`, `"is_rocm_build"`, `"is_tensorrt_build"`; and `"cuda_version"` and `"cudnn_version"` where
        CUDA was installed as Python packages, as JAX' own extras do.
    """
    found: dict[str, Any] = {
        "is_cuda_build": is_built_with_cuda(),
        "is_rocm_build": is_built_with_rocm(),
        "is_tensorrt_build": False,
    }
    if found["is_cuda_build"]:
        found |= {key: version for key, names in _NVIDIA.items() if (version := _find_installed(names))}
    return found


def _find_installed(packages: tuple[str, ...]) -> str | None:
    for package in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package)
    return None
