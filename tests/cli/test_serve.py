"""`stratax serve` answers until it is told to end, and ends with what it has begun answered."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.cli import command
from tests.command.serving.serving import write


@pytest.mark.processes
def test_a_server_answers_and_ends_well_on_sigterm(tmp_path):
    write(tmp_path / "digits" / "1", 2)
    command = [sys.executable, "-m", "stratax", "serve", str(tmp_path / "digits"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--label", "digits:stable=1"], stderr=subprocess.PIPE, text=True
    ) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"listening on (http://127.0.0.1:\d+)", line):
                break
        else:
            pytest.fail("".join(said))
        url = f"{found[1]}/v1/models/digits/labels/stable:predict"
        with urllib.request.urlopen(url, json.dumps({"instances": [[1, 2]]}).encode(), timeout=30) as answer:
            assert json.load(answer) == {"predictions": [[2, 4]]}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to serve"),
        (["--model", "a"], "--model must be NAME=BASE"),
        (["nowhere"], "is not there"),
        ([".", "--name", "m", "--label", "m:x"], "--label must be"),
        ([".", "--name", "m", "--token-file", "nowhere"], "can't be read"),
        ([".", "--name", "m", "--tls-key", "nowhere"], "no such file"),
    ],
)
def test_a_wrong_call_is_told(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert command.run(["serve", *arguments]) == 2
    assert said in capsys.readouterr().err
