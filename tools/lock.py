"""Writes constraints.txt: the exact version of everything that `pip install -e '.[dev]'` brings.

Run through `make lock`, which first installs the newest versions that pyproject.toml allows into an environment
of its own. The lock is what is installed there, reduced to the closure of the project's requirements.
"""

import importlib.metadata
import pathlib
import tomllib
from collections.abc import Iterable

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"
HEADER = """\
# The versions that Stratax is tested with: `make setup` installs exactly these. Written by `make lock`.
"""


def project_requirements(extra: str) -> list[Requirement]:
    """The project's requirements and those of `extra`, with the extras that it refers to resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pending = [extra]
    found = [Requirement(line) for line in project["dependencies"]]
    while pending:
        for line in project["optional-dependencies"][pending.pop()]:
            requirement = Requirement(line)
            if requirement.name == project["name"]:
                pending.extend(sorted(requirement.extras))
            else:
                found.append(requirement)
    return found


def build_requirements() -> list[Requirement]:
    """What builds the package; `make setup` installs it first, so that the build needs nothing else."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [Requirement(line) for line in settings["build-system"]["requires"]]


def _is_needed(requirement: Requirement, extras: Iterable[str]) -> bool:
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate(default_environment() | {"extra": e}) for e in ["", *extras])


def closure(requirements: Iterable[Requirement]) -> dict[str, str]:
    """The installed version of every package that `requirements` need, directly or not.

    Raises:
        importlib.metadata.PackageNotFoundError: One of them is not installed.
    """
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    pending = list(requirements)
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            distribution = importlib.metadata.distribution(name)
            versions[name] = distribution.version
            needs = map(Requirement, distribution.requires or [])
            pending.extend(need for need in needs if _is_needed(need, [extra]))
    return versions


def read_lock() -> dict[str, str]:
    """The locked version of every package in constraints.txt."""
    lines = [line.strip() for line in LOCK.read_text().splitlines()]
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def main() -> None:
    """Writes the lock file."""
    versions = closure([*project_requirements("dev"), *build_requirements()])
    LOCK.write_text(HEADER + "".join(f"{name}=={versions[name]}\n" for name in sorted(versions)))
    print(f"{LOCK.name}: {len(versions)} packages")


if __name__ == "__main__":
    main()
