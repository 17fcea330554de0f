"""XLA's CPU compiler keeps convolutions to itself. Each test asks a fresh process, in which JAX has not started."""

import json
import os
import subprocess
import sys

import jaxlib
import pytest

from stratax.startup import xla_flags

pytestmark = pytest.mark.processes

MEASURED_AND_NOT_AFFECTED = ("0.10.0", "0.10.1")

PROBE = """
import json
import jax.numpy as jnp
def uses_library(function, *shapes):
    text = jax.jit(function).lower(*map(jnp.ones, shapes)).compile().as_text()
    return "__ynn_fusion" in text
def convolution(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
print(json.dumps({
    "convolution": uses_library(convolution, (200, 26, 26, 32), (3, 3, 32, 32)),
    "product": uses_library(jnp.matmul, (200, 784), (784, 128)),
    "devices": jax.device_count(),
    "flags": os.environ.get("XLA_FLAGS"),
}))
"""

affected = pytest.mark.skipif(
    jaxlib.__version__ not in xla_flags.AFFECTED_JAXLIBS, reason="this jaxlib needs no flag"
)


PRODUCTS = """
import stratax, jax, json
import jax.numpy as jnp
import numpy as np
x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
constants = [np.full((3, 2), 3, np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)]
print(json.dumps([np.abs(jax.jit(lambda x: jnp.dot(x, c))(x) - x @ c).max().item() for c in constants]))
"""


def probe(*lines, **variables):
    """Which programs XLA hands to YNNPACK, how many devices there are, and the flags in the environment afterwards."""
    return answer("\n".join(["import os", *lines, PROBE]), **variables)


def answer(program, **variables):
    """What a fresh process prints last, as JSON."""
    ours = ("KERAS_", "STRATAX_", "JAX_", "XLA_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | {"JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_this_jaxlib_has_been_measured():
    known = (*MEASURED_AND_NOT_AFFECTED, *xla_flags.AFFECTED_JAXLIBS)
    assert jaxlib.__version__ in known, (
        "Nobody has measured convolutions with this jaxlib. Run `python -m benchmarks --only 'layer-conv*'` and "
        "`--only flag`, and add its version here or to stratax.startup.xla_flags.AFFECTED_JAXLIBS."
    )


@affected
def test_without_the_flag_this_jaxlib_hands_convolutions_to_a_library():
    found = probe("import jax")
    assert found["convolution"], "The flag is needless with this jaxlib: take it out of AFFECTED_JAXLIBS."
    assert found["product"]


@affected
@pytest.mark.parametrize(
    "lines",
    [
        ["import stratax", "import jax"],
        ["import jax", "import stratax"],
        ["import keras", "import stratax", "import jax"],
        ["import stratax, jax", "stratax.simulate_devices(1)"],
    ],
    ids=["stratax first", "jax first", "keras first", "simulated"],
)
def test_convolutions_stay_with_xla_and_the_environment_is_as_before(lines):
    assert probe(*lines) == {"convolution": False, "product": True, "devices": 1, "flags": None}


@affected
def test_products_with_constants_are_right():
    """With another of XLA's settings, a product with equal numbers was the first term of each sum."""
    assert answer(PRODUCTS) == [0.0, 0.0]


@affected
def test_what_the_environment_simulates_has_the_flag_too():
    found = probe("import stratax, jax", STRATAX_SIMULATE="tpu:8")
    assert (found["convolution"], found["product"], found["devices"]) == (False, True, 8)


@affected
def test_flags_of_the_user_stay_also_those_set_after_the_import():
    flags = "--xla_force_host_platform_device_count=3"
    expected = {"convolution": False, "product": True, "devices": 3, "flags": flags}
    assert probe("import stratax, jax", XLA_FLAGS=flags) == expected
    assert probe("import stratax, jax", f"os.environ['XLA_FLAGS'] = {flags!r}") == expected


def test_a_user_who_names_the_flag_decides():
    flags = f"--{xla_flags.NAME}="
    found = probe("import stratax, jax", XLA_FLAGS=flags)
    assert (found["convolution"], found["product"], found["flags"]) == (False, False, flags)


@affected
def test_nothing_happens_once_jax_has_started():
    found = probe("import jax", "jax.devices()", "import stratax")
    assert (found["convolution"], found["product"], found["flags"]) == (True, True, None)


@affected
def test_nothing_happens_with_another_jaxlib():
    found = probe(
        "import jaxlib",
        "jaxlib.__version__ = '0.10.99'",
        "import stratax, jax",
        "jaxlib.__version__ = '0.10.2'",
    )
    assert (found["convolution"], found["product"], found["flags"]) == (True, True, None)


def test_a_file_of_flags_stays(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "/a/file")
    with xla_flags._add_setting():
        assert os.environ["XLA_FLAGS"] == "/a/file"
    assert os.environ["XLA_FLAGS"] == "/a/file"
