"""Tomorrow's release of a dependency breaks nobody: what is installed is what is written down."""

import pathlib
import re

import pytest

from tools import lock

ROOT = pathlib.Path(lock.__file__).resolve().parent.parent
DIRECT = [*lock.project_requirements("dev"), *lock.build_requirements()]


def test_the_lock_has_every_package_that_the_project_needs_directly_or_not():
    assert sorted(set(lock.closure(DIRECT)) - set(lock.read_lock())) == []


@pytest.mark.parametrize("requirement", DIRECT, ids=str)
def test_every_locked_version_is_in_the_range_that_the_project_allows(requirement):
    version = lock.read_lock()[lock.canonicalize_name(requirement.name)]
    assert requirement.specifier.contains(version)


@pytest.mark.parametrize("requirement", lock.project_requirements("tensorboard"), ids=str)
def test_every_dependency_of_a_user_has_a_lower_and_an_upper_bound(requirement):
    operators = {specifier.operator for specifier in requirement.specifier}
    assert operators == {">=", "<"}


def test_the_lock_has_exact_versions_and_nothing_else():
    lines = [line for line in lock.LOCK.read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9A-Za-z.+]*", line)] == []
    assert lines == sorted(lines, key=lambda line: line.split("==")[0])


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt", "Makefile", ".ci/run"])
def test_no_package_index_is_written_down(name):
    assert not re.search(r"https?://|file://|index-url|find-links", (ROOT / name).read_text())
