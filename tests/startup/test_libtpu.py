"""libtpu is silent where no TPU is attached. Each test asks a fresh process, in which JAX has not started."""

import importlib.util
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        importlib.util.find_spec("libtpu") is None, reason="the compiler for TPUs is not installed"
    ),
]
ASKED = """
from jax._src.hardware_utils import num_available_tpu_chips_and_device_id
assert num_available_tpu_chips_and_device_id()[0] == 0
print(jax.default_backend(), "libtpu.so" in open("/proc/self/maps").read())
"""


def run(*lines, **variables):
    ours = ("KERAS_", "STRATAX_", "JAX_", "TPU_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.mark.parametrize(
    "imports",
    [
        ("import stratax", "import jax"),
        ("import jax", "import stratax"),
        ("import stratax.tf", "import keras, jax"),
    ],
)
def test_no_program_hears_of_a_tpu_that_is_not_there(imports):
    done = run(*imports, "jax.devices()", ASKED)
    assert (done.stdout, done.stderr) == ("cpu False\n", "")


def test_who_asks_for_a_tpu_is_told_that_there_is_none():
    done = run("import stratax, jax", "jax.devices('tpu')")
    assert "No TPU is attached to this host. Set JAX_PLATFORMS=tpu" in done.stderr


@pytest.mark.parametrize("how", ["variable", "setting"])
def test_libtpu_looks_for_a_tpu_where_one_is_asked_for(how):
    asks = "" if how == "variable" else "jax.config.update('jax_platforms', 'tpu,cpu')"
    variables = {"JAX_PLATFORMS": "tpu,cpu"} if how == "variable" else {}
    done = run("import stratax, jax", asks, "jax.devices()", TPU_SKIP_MDS_QUERY="1", **variables)
    assert "Unable to initialize backend 'tpu'" in done.stderr
    assert "No TPU is attached" not in done.stderr
