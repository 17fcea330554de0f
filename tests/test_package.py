"""The package: its name, and what of it people are told to install."""

import contextlib
import pathlib
import re
import subprocess
import tomllib
import zipfile

import pytest

from tools import package

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# `stratax` on the package index is a library of other people: pip would put it in this one's place.
FOREIGN = re.compile(
    r"(?<![\w.-])stratax(?:\[[\w,-]+\](?=['\" `;]|==|>=)|(?:==|>=|~=)\d|-\d+\.\d)"
    r"|\b(?:pip|uv)3? (?:install|download|add)\b[^\n`;&|]*?\s['\"]?stratax(?![\w./-])"
)
EXTRAS = re.compile(r"stratax-train\[([\w,-]+)\]")


def lines():
    """Every line of every tracked text file, with its place."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    files = tracked.split() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.*") if path.is_file()]
    for file in files:
        path = ROOT / file
        if (
            path.suffix in {".py", ".pyi", ".md", ".toml", ".txt", ".yml", ".yaml", ".ipynb", ".sh", ""}
            and path.is_file()
        ):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                yield f"{file}:{number}", line


@pytest.mark.parametrize(
    "line",
    [
        "pip install stratax",
        "pip install --upgrade 'stratax'",
        "run `pip install 'stratax[images]'`",
        'dev = ["stratax[serve]"]',
        "stratax==0.1",
        "--install dist/stratax-0.1.0-py3-none-any.whl",
    ],
)
def test_the_foreign_name_is_found(line):
    assert FOREIGN.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install 'stratax-train[images]'",
        "--install 'dist/stratax_train-0.1.0-py3-none-any.whl[tpu]'",
        "def f(names: dict[str, stratax.Variable]) -> None: ...",
        "docker run stratax-serve; pip install . && stratax devices",
    ],
)
def test_other_uses_of_the_name_are_none(line):
    assert not FOREIGN.search(line)


def test_nobody_is_told_to_install_a_library_of_other_people():
    here = pathlib.Path(__file__).name
    assert not [f"{place}: {line}" for place, line in lines() if here not in place and FOREIGN.search(line)]


def test_the_extras_that_people_are_told_to_install_exist():
    named = {extra for _, line in lines() for found in EXTRAS.findall(line) for extra in found.split(",")}
    assert named <= set(PROJECT["optional-dependencies"])
    assert {"images", "servers", "tpu-compile"} <= named


def test_the_gate_builds_checks_and_tries_the_package():
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^make .*\bpackage\b", gate, re.MULTILINE)


def wheel_of(path, content):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("stratax/__init__.py", content)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "CHANGELOG.md").unlink(), r"lacks \['CHANGELOG.md'\] and has \[\]"),
        (
            lambda folder: (folder / "tests" / "test_lock.py").touch(),
            r"lacks \[\] and has \['tests/test_lock.py'\]",
        ),
        (lambda folder: wheel_of(folder.parent / "direct.whl", "1"), r"differ in \['stratax/__init__.py'\]"),
        (lambda folder: None, ""),
    ],
)
def test_a_package_that_lacks_or_has_what_it_should_not_is_found(tmp_path, change, message):
    folder = tmp_path / "unpacked"
    for name in (*package.WANTED, "tests/"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).mkdir() if name.endswith("/") else (folder / name).touch()
    wheels = [wheel_of(tmp_path / name, "") for name in ("built.whl", "direct.whl")]
    change(folder)
    with pytest.raises(SystemExit, match=message) if message else contextlib.nullcontext():
        package.check_contents(folder, *wheels)


def test_the_distribution_the_import_and_the_command_have_their_names():
    assert PROJECT["name"] == "stratax-train"
    assert PROJECT["scripts"] == {"stratax": "stratax.cli:main"}
