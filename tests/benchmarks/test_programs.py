"""The programs that are measured run under `stratax run`, and train by turns."""

import json
import os
import pathlib

import pytest

import benchmarks
from tests.cluster import forks

PROGRAMS = pathlib.Path(benchmarks.__file__).parent / "programs"

pytestmark = [pytest.mark.processes, pytest.mark.programs]


@pytest.mark.parametrize(
    "program",
    ["census", *(pytest.param(name, marks=pytest.mark.stress) for name in ("bert", "deepfm", "resnet 20"))],
)
def test_a_program_says_when_its_first_step_is_done(program):
    name, *arguments = program.split()
    command = ["-m", "stratax", "run", PROGRAMS / f"{name}.py", *arguments]
    done = forks.run(command, {**os.environ, "STRATAX_SIMULATE": ""})
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["processor_s"] > 0
