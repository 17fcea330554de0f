"""`python -m benchmarks` prints a table and writes JSON."""

import json
import pathlib
import subprocess
import sys

import pytest

from benchmarks import _report

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.programs
@pytest.mark.processes
def test_figures_are_printed_as_a_table_and_written_as_json(tmp_path):
    path = tmp_path / "results.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--only", "import", "--json", str(path)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(path.read_text())
    (result,) = found["results"]
    assert (result["name"], result["target"], result["error"]) == ("import", "<= 0.3 s", None)
    assert result["met"] == (result["figure"]["value"] <= 0.3)
    assert {"jax", "keras", "stratax"} <= set(found["host"]["versions"])
    row = next(line for line in done.stdout.splitlines() if line.startswith("│ import "))
    assert f" {result['figure']['value']:.3f} s " in row
    assert _report.verdict(result) in row


@pytest.mark.processes
def test_a_name_that_no_case_has_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "nothing"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 2
    assert "No case has a name like that. Received: --only 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("met", "error", "verdict"),
    [
        (True, None, "met"),
        (False, None, "missed"),
        (None, None, ""),
        (None, "Traceback ...\nRuntimeError: no", "failed"),
        (None, "MissingPackageError: not installed: tensorflow", "not installed"),
    ],
)
def test_a_result_has_one_verdict(met, error, verdict):
    assert _report.verdict({"met": met, "error": error}) == verdict


def test_every_layer_and_every_lowering_has_a_row():
    from benchmarks import _cases, _layer_programs, _lowerings

    cases = _cases.all_cases([1, 8])
    lowerings = {case.options["name"] for case in cases if case.program == "_lowerings:rewritten"}
    assert lowerings == set(_lowerings.PROGRAMS)
    groups = {(case.options["group"], case.devices) for case in cases if case.program == "_layers:group"}
    assert groups == {(group, devices) for group in _layer_programs._layers() for devices in (1, 8)}


def test_every_published_figure_and_every_pair_of_steps_has_a_row():
    from benchmarks import _cases, _published, _roofline

    cases = _cases.all_cases([1, 8])

    def names(program):
        return {case.options["name"] for case in cases if case.program == program}

    assert names("_published:estimated") == set(_published.PUBLISHED)
    assert names("_roofline:ratio") == set(_roofline.PAIRS)


def test_published_figures_follow_from_their_logs():
    from benchmarks._published import PUBLISHED

    rounded = {name: round(each.per_second) for name, each in PUBLISHED.items()}
    assert rounded == {
        "resnet-v2-8": 4475,
        "resnet-v3-8": 7454,
        "resnet-v3-32": 32584,
        "resnet-v4-128": 220805,
        "bert-v3-32": 973,
    }
