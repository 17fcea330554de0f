"""Without the packages that serving needs, it says how to get them."""

import os
import subprocess
import sys

import pytest

WITHOUT = """
import sys
for name in ("uvicorn", "starlette"):
    sys.modules[name] = None
from stratax.command import serving
serving.ServingOptions(models={"m": "."})
try:
    serving.ModelServer
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.processes
def test_missing_packages_are_named():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        env={**os.environ, "STRATAX_SIMULATE": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.startswith("MissingPackageError Serving needs packages")
    assert "pip install 'stratax-train[serve]'" in run.stdout
