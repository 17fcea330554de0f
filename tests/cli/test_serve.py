"""`stratax serve` answers until it is told to end, and ends with what it has begun answered."""

import contextlib
import http.client
import json
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import psutil
import pytest

from tests.cli import command
from tests.command.serving.serving import write

IDLE = b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n"
# The rest of the body never comes.
HALF = (
    b"POST /v1/models/digits:predict HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n"
    + b" " * 20_000
)
NUM_CONNECTIONS = 800


@contextlib.contextmanager
def served(folder, *options):
    """Serve a model in a process of its own; give the process and its port."""
    write(folder / "digits" / "1", 2)
    command = [sys.executable, "-m", "stratax", "serve", str(folder / "digits"), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = []
            for line in process.stderr:
                said.append(line)
                if found := re.search(r"listening on http://127.0.0.1:(\d+)", line):
                    break
            else:
                pytest.fail("".join(said))
            yield process, int(found[1])
        finally:
            process.kill()


def ask(port, path):
    url = f"http://127.0.0.1:{port}/v1/models/digits{path}:predict"
    with urllib.request.urlopen(url, json.dumps({"instances": [[1, 2]]}).encode(), timeout=30) as answer:
        return json.load(answer)


@pytest.mark.processes
def test_a_server_answers_and_ends_well_on_sigterm(tmp_path):
    with served(tmp_path, "--label", "digits:stable=1") as (process, port):
        assert ask(port, "/labels/stable") == {"predictions": [[2, 4]]}
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.fixture
def many_files():
    """As many open files as the connections of a test need, in this process and those that it starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = NUM_CONNECTIONS + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"This needs {wanted} open files.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def hold(port):
    """Open connections: every other one idle behind an answer, the others in the middle of a request."""
    held = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(NUM_CONNECTIONS)]
    for number, connection in enumerate(held):
        connection.sendall(HALF if number % 2 else IDLE)
    for connection in held[::2]:
        assert status_of_answer(connection) == 200
    return held


def status_of_answer(connection):
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


@pytest.mark.processes
def test_connections_that_are_held_open_cost_little_and_keep_nobody_from_an_answer(tmp_path, many_files):
    with served(tmp_path) as (process, port):
        server = psutil.Process(process.pid)
        assert ask(port, "") == {"predictions": [[2, 4]]}
        sizes = [server.memory_info().rss]
        for _ in range(2):
            held = hold(port)
            assert [ask(port, "") for _ in range(5)] == [{"predictions": [[2, 4]]}] * 5
            sizes.append(server.memory_info().rss)
            # Nobody was given up meanwhile to make room: an idle one is answered again.
            held[0].sendall(IDLE)
            assert status_of_answer(held[0]) == 200
            for connection in held:
                connection.close()
            # Until it knows, they count, and new ones would be too many.
            end = time.monotonic() + 10
            while server.num_fds() > NUM_CONNECTIONS // 2:
                assert time.monotonic() < end
                time.sleep(0.02)
        before, first, second = (each / 2**20 for each in sizes)
        # What half of them have sent is 8 MB, and a connection has buffers of some 10 kB.
        assert first - before < 48
        # Nothing is left of those that are gone.
        assert second - first < 12


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
