"""Settings of XLA's CPU compiler that Stratax makes while JAX starts its CPU backend (lowest layers).

XLA reads ``XLA_FLAGS`` once and ends the process when it finds a flag that it does not know; every library with an XLA
of its own (a GPU's or TPU's plugin, TensorFlow) reads the same variable, in this process or in a child. So a flag is
added for known versions of jaxlib only, and stands in the environment only until jaxlib has read it.
"""

import contextlib
import importlib
import os
from collections.abc import Iterator
from typing import Any

from stratax.startup import backend

# The versions whose CPU compiler needs `SETTING`, found with ``python -m benchmarks --only layer-conv*``.
AFFECTED_JAXLIBS = ("0.10.2", "0.11.2")

NAME = "xla_cpu_experimental_ynn_fusion_type"

# jaxlib 0.10.2 hands convolutions to YNNPACK, which takes up to 8 times as long for them as XLA's own routine: 97 ms
# instead of 16 for 200x26x26x32 by 3x3x32x32 without padding, 96 instead of 29 for its filter gradient; that of jaxlib
# 0.11.2 takes 20 to 28 instead of 16 to 24, and 32 to 57 instead of 24 to 34. Matrix products stay with YNNPACK, as
# jaxlib has them: XLA's own routine takes up to 3 times as long (64x1024 by a transposed 256x1024: 0.9 ms instead of
# 0.2). Not `LIBRARY_FUSION_TYPE_DOT`, which fuses products with what is around them: a product with a constant of equal
# numbers is then the first term of each sum, without a word.
SETTING = f"--{NAME}=LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"

# What a program in which no number has half precision is compiled with: YNNPACK sums and compares, too, in a tenth of
# the time of XLA's loops, and there is less to compile. From bfloat16 it makes sums of `inf` and `nan`, without a word:
# 2000x3 numbers, converted to float32, divided by 9, `exp`, then their sum over the first dimension.
WITH_SUMS = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"

_VARIABLE = "XLA_FLAGS"


def is_ours() -> bool:
    """Return whether this jaxlib needs the flag and the user's environment does not name it."""
    is_affected = importlib.import_module("jaxlib").__version__ in AFFECTED_JAXLIBS
    return is_affected and NAME not in os.environ.get(_VARIABLE, "")


def install() -> None:
    """Have JAX's CPU backend start with `SETTING`, however the program comes to import JAX.

    Nothing happens where the version of jaxlib does not need it, where the user's ``XLA_FLAGS`` name the flag, or where
    the backend has started already.
    """
    backend.after_import("jax._src.xla_bridge", _wrap_cpu_client)


def _wrap_cpu_client() -> None:
    if importlib.import_module("jaxlib").__version__ not in AFFECTED_JAXLIBS:
        return
    bridge = importlib.import_module("jax._src.xla_bridge")
    start = bridge.make_cpu_client

    def make_cpu_client() -> Any:
        with _add_setting():
            # Creating options is what makes jaxlib read the variable; once it has, it never does again.
            _ = importlib.import_module("jaxlib._jax").CompileOptions().executable_build_options.debug_options
        return start()

    # JAX refuses it once the backend runs, and then it is too late.
    with contextlib.suppress(RuntimeError):
        bridge.register_backend_factory("cpu", make_cpu_client, priority=0, fail_quietly=False)


@contextlib.contextmanager
def _add_setting() -> Iterator[None]:
    """Add the setting to the environment variable for a moment."""
    given = os.environ.get(_VARIABLE)
    flags = (given or "").strip()
    # What does not begin with a dash is the path of a file with flags.
    if NAME in flags or (flags and not flags.startswith("-")):
        yield
        return
    os.environ[_VARIABLE] = f"{flags} {SETTING}"
    try:
        yield
    finally:
        if given is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = given
