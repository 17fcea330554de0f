"""What the command says where importing Stratax fails."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"STRATAX_SIMULATE": "foo:3"}, "Error: Only these kinds of device can be simulated: CPU, GPU, TPU."),
        ({"STRATAX_SIMULATE": "tpu"}, "Error: Simulated devices are given as kind:count"),
        ({"STRATAX_SIMULATE": "tpu:0"}, "Error: The number of simulated devices must be between 1 and"),
        ({"KERAS_BACKEND": "torch"}, "Error: Stratax needs Keras on its JAX backend."),
    ],
)
@pytest.mark.parametrize("module", ["stratax", "stratax.cli"])
def test_a_wrong_environment_variable_is_one_line_of_the_command(variables, message, module):
    done = _run("-m", module, "--version", variables=variables)
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_program_gets_the_error_itself():
    program = "try:\n    import stratax\nexcept ValueError:\n    print('raised')"
    done = _run("-c", program, variables={"STRATAX_SIMULATE": "foo:3"})
    assert (done.returncode, done.stdout) == (0, "raised\n")


def _run(*arguments, variables):
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, env=os.environ | variables
    )
