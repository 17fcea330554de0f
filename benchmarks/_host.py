"""What the figures were measured on: hardware, versions and how busy the machine was."""

import json
import os
import pathlib
import platform
import subprocess
import sys
from importlib import metadata
from typing import Any

_PROBE = """
import json, stratax, jax
device = jax.local_devices()[0]
found = {"platform": device.platform, "kind": device.device_kind, "count": jax.local_device_count()}
print(json.dumps(found | {"stratax": stratax.__version__}))
"""


def describe() -> dict[str, Any]:
    """The machine: devices as JAX finds them (in a process of its own), processor, memory and versions."""
    done = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    stratax = found.pop("stratax")
    return {
        **found,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": _memory_gib(),
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {
            "python": platform.python_version(),
            "stratax": stratax,
            **{name: metadata.version(name) for name in ("jax", "jaxlib", "keras", "numpy")},
        },
    }


def name(host: dict[str, Any]) -> str:
    """A short name for the kind of machine, fit for a file: `cpu`, `nvidia-h200`."""
    if host["platform"] == "cpu":
        return "cpu"
    return "-".join(host["kind"].lower().split())


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError):
        return None
