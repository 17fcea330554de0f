import json
import os
import re

import pytest

import stratax as sx
from stratax.cli import _devices
from tests.cli import command
from tests.cluster import forks


def run_devices(*arguments, simulate=""):
    environment = os.environ | {"STRATAX_SIMULATE": simulate, "COLUMNS": "120"}
    done = forks.run(["-m", "stratax.cli", "devices", *arguments], environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_processes_that_simulate_a_tpu_list_its_cores_and_versions_as_json():
    report = json.loads(run_devices("--simulate", "tpu:8", "--json"))
    assert report["simulated"] == "TPU"
    assert report["versions"]["stratax"] == sx.__version__
    assert set(report["versions"]) == {"stratax", "jax", "keras", "python"}
    cores = [device for device in report["devices"] if device["kind"] == "TPU"]
    assert [core["name"].rpartition("/")[2] for core in cores] == [f"device:TPU:{i}" for i in range(8)]
    assert report["num_cores"] >= 1
    assert report["memory_bytes"] > 2**28


def test_processes_show_a_table_with_a_row_per_device_and_what_is_simulated():
    text = run_devices("--simulate", "gpu:3")
    assert "simulated GPUs on a host with" in text
    assert f"stratax {sx.__version__}" in text
    assert all(f"device:GPU:{i}" in text for i in range(3))
    assert "GPU:3" not in text
    # What is no terminal gets a line for each device, with columns that are aligned.
    heading, *rows = text.splitlines()[2:]
    assert heading.split() == ["device", "kind", "hardware", "memory", "in", "use"]
    assert [row[heading.index("kind") :].split()[0] for row in rows] == ["CPU", "GPU", "GPU", "GPU"]
    assert all(row.endswith("the host's") and row.isascii() for row in rows)


def test_processes_obey_the_environment_variable():
    report = json.loads(run_devices("--json", simulate="tpu:2"))
    assert sum(device["kind"] == "TPU" for device in report["devices"]) == 2


def test_the_report_of_this_process_has_its_eight_simulated_devices(capsys):
    assert command.run(["devices", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [device["kind"] for device in report["devices"]] == ["CPU"] * 8


def test_devices_can_not_be_simulated_once_jax_runs(capsys):
    import jax

    jax.devices()
    assert command.run(["devices", "--simulate", "tpu:3"]) == 2
    assert "JAX has started already" in capsys.readouterr().err


def test_a_terminal_gets_a_table_that_fits_it(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert command.run(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("│" in line for line in lines)
    assert max(len(re.sub(r"\x1b\[\d+m", "", line)) for line in lines[2:]) <= 60


@pytest.mark.parametrize(
    ("num_bytes", "text"), [(None, "an unknown amount"), (2**30, "1.0 GiB"), (16 * 2**30 + 2**29, "16.5 GiB")]
)
def test_memory_is_shown_in_gibibytes(num_bytes, text):
    assert _devices._gibibytes(num_bytes) == text
