"""The container file names what is there, and its commands work."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from stratax.cli import main
from tests.command.serving.serving import serving, write

ROOT = pathlib.Path(__file__).parents[3]
FILE = ROOT / "containers/serve/Containerfile"
INSTRUCTIONS = re.findall(r"^([A-Z]+) ((?:.*\\\n)*.*)$", FILE.read_text("utf-8"), re.MULTILINE)


def instructions(name):
    return [text for kind, text in INSTRUCTIONS if kind == name]


def test_what_is_copied_is_there_and_is_not_ignored():
    kept = (FILE.parent / "Containerfile.dockerignore").read_text("utf-8").splitlines()
    for text in instructions("COPY"):
        for source in text.split()[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source}" in kept


def test_the_extras_that_are_installed_are_there():
    (extras,) = re.findall(r"/src\[(.*?)\]", instructions("RUN")[0])
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{extra} = \[", text, re.MULTILINE) for extra in extras.split(","))


def test_the_server_is_started_with_options_that_it_has(capsys):
    (text,) = instructions("ENTRYPOINT")
    program, command, *options = json.loads(text)
    assert (program, command) == ("stratax", "serve")
    with pytest.raises(SystemExit):
        main([command, *options, "/there/is/nothing"])
    assert "/there/is/nothing" in capsys.readouterr().err


def test_a_server_with_a_version_is_healthy_and_one_without_is_not(tmp_path):
    (text,) = re.findall(r"CMD (\[.*\])", instructions("HEALTHCHECK")[0])
    _, *rest = json.loads(text)

    def check(server):
        code = [each.replace(":8501/", f":{server.port}/") for each in rest]
        return subprocess.run([sys.executable, *code], capture_output=True, check=False).returncode

    with serving(tmp_path) as server:
        assert check(server)
        write(tmp_path / "1", 2)
        for _ in range(50):
            if not (code := check(server)):
                break
        assert not code
