"""`make test` runs its two halves, and fails if either does."""

import pathlib
import subprocess
import sys

import pytest

from tests import halves

ROOT = pathlib.Path(__file__).resolve().parent.parent
# In the place of pytest: says what it was asked for, and exits as the half's mark says.
FAKE = """#!/bin/sh
case "$*" in
  *"not exact"*) code=$REST ;;
  *) code=$NUMBERS ;;
esac
echo "ran XLA_FLAGS=${XLA_FLAGS-unset}: $*"
echo "=== short test summary info ==="
echo "summary $code"
exit $code
"""


@pytest.fixture
def run(tmp_path):
    fake = tmp_path / "python"
    fake.write_text(FAKE)
    fake.chmod(0o755)

    def run(numbers, rest, *arguments):
        return subprocess.run(
            [ROOT / "tools" / "test.sh", fake, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"PATH": "/usr/bin:/bin", "NUMBERS": str(numbers), "REST": str(rest)},
        )

    return run


def test_numbers_run_with_xla_as_users_have_it_and_all_gets_the_arguments(run):
    done = run(0, 0, "-n", "2", "-k", "a name")
    numbers, _, _, rest, *_ = done.stdout.splitlines()
    assert numbers == "ran XLA_FLAGS=: -m pytest -q -m exact and not programs and not stress -n 2 -k a name"
    assert (
        rest
        == "ran XLA_FLAGS=unset: -m pytest -q -m not exact and not programs and not stress -n 2 -k a name"
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("numbers", "rest", "code"),
    [(1, 0, 1), (0, 1, 1), (1, 1, 1), (5, 0, 0), (0, 5, 0), (5, 1, 1), (1, 5, 1), (5, 5, 5), (0, 4, 4)],
)
def test_it_fails_if_a_half_does_and_not_for_want_of_tests_in_one(run, numbers, rest, code):
    done = run(numbers, rest)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == f"summary {1 if 1 in (numbers, rest) else rest}"


@pytest.mark.parametrize("code", [2, 3, 4])
def test_what_interrupts_the_first_half_ends_both(run, code):
    done = run(code, 0)
    assert (done.returncode, done.stdout.count("ran ")) == (code, 1)


def test_the_gate_runs_the_readmes_command():
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert gate[-2:] == [f"make --no-print-directory {name}" for name in ("programs", "test")]
    assert all(f"\nmake {name} " in readme for name in ("programs", "test"))
    planned = subprocess.run(
        ["make", "-n", f"PYTHON={sys.executable}", "test", "ARGS=-k name", "WORKERS=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "tools/test.sh .venv/bin/python -n 1 --dist worksteal -k name" in planned.stdout


def test_what_make_test_leaves_out_make_programs_runs():
    planned = subprocess.run(
        ["make", "-n", f"PYTHON={sys.executable}", "programs", "ARGS=-k name", "WORKERS=1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert '-n 1 --dist loadfile -m "programs and not stress" -k name' in planned.stdout


@pytest.mark.parametrize(
    ("expression", "text", "expected"),
    [
        ("exact and not programs", "@pytest.mark.exact\n", False),
        ("exact and not programs", "@pytest.mark.programs\n", True),
        ("programs and not stress", "@pytest.mark.programs\n", False),
        ("programs and not stress", "@pytest.mark.exact\n", True),
        ("not exact and not programs", "@pytest.mark.stress\n", False),
        ("", "", False),
    ],
)
def test_exact_tests_and_those_of_programs_import_only_files_that_have_some(
    expression, text, expected, tmp_path
):
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert halves.leaves_out(expression, path) is expected
    assert not halves.leaves_out(expression, tmp_path)
