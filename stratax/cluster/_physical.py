"""How many devices this host has, found out without starting JAX where that is possible (cluster layer).

Settings of devices have to be made before JAX starts, and programs list the devices first.
"""

import ctypes
import dataclasses
import functools
import importlib.metadata
import importlib.util
import os
import pkgutil
import re

import jax

from stratax.cluster._simulate import find_simulated
from stratax.seams.jax import hardware_utils, xla_bridge

_FORCED_CPUS = re.compile(r"--xla_force_host_platform_device_count=(\d+)")
# The names of JAX's platforms for each kind of device.
_PLATFORMS = {"GPU": ("gpu", "cuda", "rocm"), "TPU": ("tpu",)}


@dataclasses.dataclass(slots=True)
class _Counts:
    """Devices by kind, where a setting has changed how many of them JAX has."""

    kept: dict[str, int] = dataclasses.field(default_factory=dict)


_counts = _Counts()


def has_started() -> bool:
    """Return whether JAX has started, after which no setting of devices can be made."""
    return bool(xla_bridge.backends_are_initialized())


def keep_count(kind: str, count: int) -> None:
    """Remember how many devices of a kind there are, before a setting hides some or makes one into several."""
    _counts.kept.setdefault(kind, count)


def find_known_count(kind: str) -> int | None:
    """Return how many devices of a kind this host has; None if only JAX, once it has started, can say.

    Args:
        kind: ``"CPU"``, ``"GPU"`` or ``"TPU"``.
    """
    if kind in _counts.kept:
        return _counts.kept[kind]
    if (pretended := find_simulated()) is not None:
        return pretended.count if kind == pretended.kind else int(kind == "CPU")
    if has_started():
        return None
    if kind == "CPU":
        return _count_cpus()
    allowed = jax.config.values["jax_platforms"]
    if allowed and not any(platform in allowed for platform in _PLATFORMS[kind]):
        return 0
    if kind == "TPU":
        return None if may_have_tpus() or _plugins() - {"cuda"} else 0
    if not _plugins():
        return 0
    return _count_cuda() if _plugins() == {"cuda"} else None


def has_plugin(platform: str) -> bool:
    """Return whether JAX is installed with a plugin whose name contains that of a platform."""
    return any(platform in name for name in _plugins())


def cuda_memory(index: int) -> int | None:
    """Return the bytes of memory of a GPU of NVIDIA; None if its driver does not say."""
    driver = _cuda_driver()
    device, size = ctypes.c_int(), ctypes.c_size_t()
    if driver is None or driver.cuDeviceGet(ctypes.byref(device), index):
        return None
    return None if driver.cuDeviceTotalMem_v2(ctypes.byref(size), device) else size.value


def may_have_tpus() -> bool:
    """Return whether libtpu may find TPUs: it is also installed where it only compiles for them."""
    # As JAX does it when it is imported.
    attached, _ = hardware_utils.num_available_tpu_chips_and_device_id()
    has_library = importlib.util.find_spec("libtpu") is not None
    return has_library and (attached > 0 or "JAX_FORCE_TPU_INIT" in os.environ)


def _count_cpus() -> int:
    configured = jax.config.values["jax_num_cpu_devices"]
    forced = _FORCED_CPUS.search(os.environ.get("XLA_FLAGS", ""))
    return configured if configured > 0 else int(forced[1]) if forced else 1


@functools.cache
def _plugins() -> frozenset[str]:
    """Return what JAX's installed plugins are for: `"cuda"`, and the names of all others."""
    names = {entry.name for entry in importlib.metadata.entry_points(group="jax_plugins")}
    if (space := importlib.util.find_spec("jax_plugins")) is not None:
        names |= {found.name for found in pkgutil.iter_modules(space.submodule_search_locations)}
    return frozenset("cuda" if "cuda" in name else name for name in names)


@functools.cache
def _cuda_driver() -> ctypes.CDLL | None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    # It reserves no memory and makes no context; JAX calls it again.
    return None if driver.cuInit(0) else driver


def _count_cuda() -> int | None:
    driver, count = _cuda_driver(), ctypes.c_int()
    if driver is None:
        return 0
    return None if driver.cuDeviceGetCount(ctypes.byref(count)) else count.value
