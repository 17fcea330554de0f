"""`make check` finds what it is there to find: each check fires on a probe that breaks its rule."""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(sys.executable).parent


def run(*line, folder=ROOT, text=None):
    return subprocess.run(
        [str(BIN / line[0]), *line[1:]],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture
def copy(tmp_path):
    """A copy of the package and its settings that a probe may be put into."""
    shutil.copytree(ROOT / "stratax", tmp_path / "stratax", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("A003", "class C:\n    def list(self) -> None: ...\n    def f(self) -> list[int]: ...\n"),
        ("ANN001", "def f(x) -> None:\n    del x\n"),
        ("B006", "def f(x: list[int] = []) -> None:\n    del x\n"),
        ("C400", "x = list(i for i in (1, 2))\n"),
        ("D103", "def f() -> None:\n    return None\n"),
        ("D417", 'def f(x: int) -> None:\n    """Is.\n\n    Args:\n        y: No.\n    """\n'),
        ("E501", f"x = '{'x' * 120}'\n"),
        ("ERA001", "# x = f(1)\n"),
        ("F401", "import os\n"),
        ("FIX002", "# TODO: later\n"),
        ("I001", "import os\nimport abc\n"),
        ("PIE790", "class C:\n    x = 1\n    pass\n"),
        ("RUF022", "__all__ = ['b', 'a']\n"),
        ("S101", "assert True\n"),
        ("SIM102", "if a:\n    if b:\n        c()\n"),
        ("T201", "print(1)\n"),
        ("TID252", "from . import errors\n"),
        ("UP006", "from typing import List\nx: List[int]\n"),
        ("W291", "x = 1 \n"),
    ],
)
def test_the_lint_rule_fires(rule, code):
    done = run(
        "ruff", "check", "--output-format=concise", "--stdin-filename=stratax/probe.py", "-", text=code
    )
    assert rule in done.stdout
    assert done.returncode == 1


def test_the_format_check_fires():
    done = run("ruff", "format", "--check", "--stdin-filename=stratax/probe.py", "-", text="x  =  1\n")
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("layer", "module"),
    [("core", "cluster"), ("cluster", "distribute"), ("distribute", "cli"), ("core", "cli")],
)
def test_the_import_contract_fires_on_an_import_that_points_up(copy, layer, module):
    probe = copy / "stratax" / layer / "_probe.py"
    probe.write_text(f"import stratax.{module}\n")
    done = run("lint-imports", "--no-cache", folder=copy)
    assert f"stratax.{layer}._probe -> stratax.{module}" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("room", "module"),
    [("elements", "plan"), ("ops", "dataset"), ("sources", "examples"), ("dataset", "readers")],
)
def test_the_contract_inside_data_fires_on_an_import_that_points_up_or_aside(copy, room, module):
    probe = copy / "stratax" / "data" / room / "_probe.py"
    probe.write_text(f"import stratax.data.{module}\n")
    done = run("lint-imports", "--no-cache", folder=copy)
    assert f"stratax.data.{room}._probe -> stratax.data.{module}" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("package", "other"),
    [
        ("core", "tensorflow"),
        ("data", "tf"),
        ("cluster", "v1"),
        ("summary", "image"),
        ("image", "tensorflow"),
        ("engine", "parameter_servers"),
    ],
)
def test_the_contracts_of_the_core_fire_on_an_import_of_what_it_does_not_know(copy, package, other):
    (copy / "stratax" / package / "_probe.py").write_text(f"import stratax.{other}\n")
    done = run("lint-imports", "--no-cache", folder=copy)
    assert f"stratax.{package} is not allowed to import stratax.{other}:" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("module", "other"),
    [
        ("checkpoint._folder", "tensorflow.checkpoints._bundles"),
        ("export._trace", "tensorflow.exports._record"),
    ],
)
def test_the_contracts_inside_a_package_fire_on_an_import_of_what_serves_tensorflows_files(
    copy, module, other
):
    with (copy / "stratax" / f"{module.replace('.', '/')}.py").open("a") as file:
        file.write(f"import stratax.{other}\n")
    done = run("lint-imports", "--no-cache", folder=copy)
    assert f"stratax.{module} -> stratax.{other}" in done.stdout
    assert done.returncode == 1


def test_the_contract_inside_data_fires_on_a_module_that_is_in_no_room(copy):
    (copy / "stratax" / "data" / "_helpers.py").touch()
    done = run("lint-imports", "--no-cache", folder=copy)
    assert "stratax.data._helpers" in done.stdout
    assert done.returncode == 1


def test_the_import_contract_fires_on_an_import_that_points_up_by_way_of_the_front_door(copy):
    (copy / "stratax" / "core" / "_probe.py").write_text("import stratax\n")
    (copy / "stratax" / "__init__.py").write_text("import stratax.cli\n")
    done = run("lint-imports", "--no-cache", folder=copy)
    assert "stratax.core._probe -> stratax" in done.stdout
    assert done.returncode == 1


def test_the_import_contract_fires_on_a_package_that_has_no_place_in_it(copy):
    (copy / "stratax" / "helpers").mkdir()
    (copy / "stratax" / "helpers" / "__init__.py").touch()
    done = run("lint-imports", "--no-cache", folder=copy)
    assert "stratax.helpers" in done.stdout
    assert done.returncode == 1


@pytest.mark.stress
def test_the_type_check_fires(copy):
    probes = {
        "unannotated": ("def f(x):\n    return x\n", "missing a type annotation"),
        "assigned": ("x: int = 'a'\n", "Incompatible types in assignment"),
        "imported": ("from stratax.errors import NoSuchError\n", 'has no attribute "NoSuchError"'),
        "right": ("x: int = 1\n", None),
    }
    for name, (code, _) in probes.items():
        (copy / "stratax" / f"{name}_probe.py").write_text(code)
    modules = [word for name in probes for word in ("-m", f"stratax.{name}_probe")]
    done = run("mypy", "--config-file=pyproject.toml", "--follow-imports=silent", *modules, folder=copy)
    for name, (_, message) in probes.items():
        told = [line for line in done.stdout.splitlines() if line.startswith(f"stratax/{name}_probe.py:")]
        assert [message in line for line in told] == ([] if message is None else [True]), done.stdout
    assert done.returncode == 1


def test_a_doctest_that_is_wrong_fires(copy):
    (copy / "probe.py").write_text('"""A module.\n\n>>> 1 + 1\n3\n"""\n')
    done = run("python", "-m", "pytest", "-q", "--doctest-modules", "probe.py", folder=copy)
    assert "Expected:" in done.stdout
    assert done.returncode == 1
