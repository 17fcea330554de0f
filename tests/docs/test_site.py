"""What the site makes by itself, before Sphinx reads it: `make docs` has the rest."""

import importlib.util
import pathlib

from tests.cli.command import program

CONF = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "conf.py"


def paths_of(command, path):
    yield path
    for name, each in getattr(command, "commands", {}).items():
        yield from paths_of(each, f"{path} {name}")


def test_the_page_of_the_command_line_has_every_command_with_its_options():
    spec = importlib.util.spec_from_file_location("conf", CONF)
    conf = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conf)
    text = "".join(conf._commands(program, "stratax"))
    sections = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]
    assert sorted(sections) == sorted(set(paths_of(program, "stratax")) - {"stratax"})
    assert "stratax manifest kubernetes" in sections
    assert "--devices-per-worker" in text
