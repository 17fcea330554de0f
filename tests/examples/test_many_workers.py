"""The example for several workers, run as a user runs it."""

import os
import re
import subprocess
import sys

import pytest

from tests.cluster.processes import without_gloo
from tests.examples.test_programs import CHECKOUT

pytestmark = [pytest.mark.processes, pytest.mark.programs]


def launched(folder, *arguments):
    """What the example prints as two workers with two devices each."""
    launch = (sys.executable, "-m", "stratax.cli", "launch", "--workers", "2", "--devices-per-worker", "2")
    done = subprocess.run(
        [*launch, str(CHECKOUT / "examples" / "many_workers.py"), *arguments],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_two_workers_learn_digits_and_the_chief_says_so(tmp_path):
    printed = launched(tmp_path, "--limit", "600", "--epochs", "2", "--backup", tmp_path / "backup")
    assert "[worker 0] 2 workers, 4 replicas" in printed
    ((loss, accuracy),) = re.findall(r"Loss: (\S+), Accuracy: (\S+)$", printed, re.MULTILINE)
    assert float(loss) < 1.5
    assert float(accuracy) > 0.6
    others = "".join(re.findall(r"^\[worker 1\](.*)$", printed, re.MULTILINE))
    assert not re.sub(r"[\d\s]", "", without_gloo(others)), others
