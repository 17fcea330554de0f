"""No search for a TPU where none is attached: libtpu would write of it (lowest layers).

libtpu is installed also where it only compiles for TPUs. JAX loads it whenever it starts, and on a host without a TPU
it writes six lines about the one that it has not found. Where a TPU is attached, JAX itself asks for the platform `tpu`
by name when it is imported; so do programs, by `JAX_PLATFORMS` or `jax_platforms`, and `JAX_FORCE_TPU_INIT`.
"""

import contextlib
import importlib
from typing import Any

from stratax.startup import backend


def install() -> None:
    """Have JAX start libtpu only where TPUs are asked for, however the program comes to import JAX."""
    backend.after_import("jax._src.xla_bridge", _wrap)


def _wrap() -> None:
    bridge = importlib.import_module("jax._src.xla_bridge")
    registered = bridge._backend_factories.get("tpu")
    if registered is None:
        return
    start = registered.factory

    def make_tpu_client() -> Any:
        # Looked up now: a program may ask for TPUs after it has imported JAX.
        if not bridge.config.jax_platforms.value:
            raise RuntimeError(
                "No TPU is attached to this host. Set JAX_PLATFORMS=tpu to have libtpu look for one all the same."
            )
        return start()

    # JAX refuses it once the backends run, and then it is too late.
    with contextlib.suppress(RuntimeError):
        bridge.register_backend_factory(
            "tpu", make_tpu_client, priority=registered.priority, fail_quietly=registered.fail_quietly
        )
