"""Tomorrow's release of a dependency breaks nobody: what is installed is what is written down."""

import importlib.metadata
import pathlib
import re
import tomllib

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and line[0] != "#"]
LOCK = {canonicalize_name(name): version for name, version in (line.split("==") for line in LINES)}


def project_requirements(extra):
    """The project's requirements and those of `extra`, with the extras that it refers to resolved."""
    project = SETTINGS["project"]
    found = [Requirement(line) for line in project["dependencies"]]
    for requirement in map(Requirement, project["optional-dependencies"][extra]):
        if requirement.name == project["name"]:
            found += [need for inner in sorted(requirement.extras) for need in project_requirements(inner)]
        else:
            found.append(requirement)
    return found


DIRECT = [*project_requirements("dev"), *map(Requirement, SETTINGS["build-system"]["requires"])]


def needed(requirements):
    """The names of all packages that are needed, directly or not, as the installed ones tell."""
    pending = [(canonicalize_name(r.name), extra) for r in requirements for extra in ("", *r.extras)]
    seen = set()
    while pending:
        name, extra = pending.pop()
        if (name, extra) not in seen:
            seen.add((name, extra))
            for need in map(Requirement, importlib.metadata.requires(name) or []):
                if need.marker is None or need.marker.evaluate(default_environment() | {"extra": extra}):
                    pending += [(canonicalize_name(need.name), inner) for inner in ("", *need.extras)]
    return {name for name, _ in seen}


def test_the_lock_has_every_package_that_the_project_needs_directly_or_not():
    assert sorted(needed(DIRECT) - set(LOCK)) == []


@pytest.mark.parametrize("requirement", dict.fromkeys(DIRECT), ids=str)
def test_every_locked_version_is_in_the_range_that_the_project_allows(requirement):
    assert requirement.specifier.contains(LOCK[canonicalize_name(requirement.name)])


@pytest.mark.parametrize("requirement", project_requirements("tensorboard"), ids=str)
def test_every_dependency_of_a_user_has_a_lower_and_an_upper_bound(requirement):
    operators = {specifier.operator for specifier in requirement.specifier}
    assert operators == {">=", "<"}


def test_the_lock_has_exact_versions_and_nothing_else():
    assert [line for line in LINES if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9A-Za-z.+]*", line)] == []
    assert sorted(LINES, key=lambda line: line.split("==")[0]) == LINES


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "Makefile", ".ci/run"])
def test_no_package_index_is_written_down(name):
    assert not re.search(r"https?://|file://|index-url|find-links", (ROOT / name).read_text())
