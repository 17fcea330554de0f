"""A server that ends answers whatever was sent before: nothing is reset."""

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from tests.cluster.processes import CHECKOUT
from tests.command.serving.serving import serving, write

ROW = json.dumps({"instances": [[1, 2]]})
REQUEST = (
    f"POST /v1/models/m:predict HTTP/1.1\r\nHost: here\r\nContent-Length: {len(ROW)}\r\n\r\n{ROW}".encode()
)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("ending")
    write(base / "1", 2)
    return base


class Client:
    """Asks again and again until no connection is made any more; counts what was answered and what was lost."""

    def __init__(self, port, *, keeps):
        self.port = port
        self.keeps = keeps
        self.answered = 0
        self.lost = []
        self.thread = threading.Thread(target=self.run)

    def run(self):
        connection = None
        while True:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                try:
                    connection.connect()
                except OSError:
                    return  # Nobody is there any more: nothing was sent.
            try:
                connection.request("POST", "/v1/models/m:predict", ROW)
                answer = connection.getresponse()
                values = json.loads(answer.read())
                assert (answer.status, values) == (200, {"predictions": [[2.0, 4.0]]}), values
            except Exception as error:
                self.lost.append(repr(error))
                return
            self.answered += 1
            if not self.keeps or answer.getheader("connection") == "close":
                connection.close()
                connection = None


def asked_until_it_ends(port, end, seconds):
    """Ask with eight clients, half of which keep their connections, and end the server meanwhile."""
    clients = [Client(port, keeps=bool(number % 2)) for number in range(8)]
    for client in clients:
        client.thread.start()
    time.sleep(seconds)
    end()
    for client in clients:
        client.thread.join(60)
        assert not client.thread.is_alive()
    assert [lost for client in clients for lost in client.lost] == []
    assert all(client.answered for client in clients)
    return sum(client.answered for client in clients)


def test_no_request_is_lost_when_a_server_ends(base):
    with serving(base) as server:
        assert asked_until_it_ends(server.port, server.stop, 0.5) > 8


def test_what_lies_in_sockets_is_answered(base):
    with serving(base) as server:
        connections = [socket.create_connection(("127.0.0.1", server.port), timeout=20) for _ in range(6)]
        answers = [http.client.HTTPResponse(each) for each in connections]
        # One has got an answer and keeps its connection, one has sent half a request, and one nothing yet.
        connections[0].sendall(REQUEST)
        answers[0].begin()
        assert answers[0].read()
        connections[1].sendall(REQUEST[:50])
        ending = threading.Thread(target=server.stop)
        ending.start()
        # And all of these come when it has been told to end.
        time.sleep(0.3)
        connections[1].sendall(REQUEST[50:])
        for each in (connections[0], *connections[2:]):
            each.sendall(REQUEST)
        for each in connections:
            answer = http.client.HTTPResponse(each)
            answer.begin()
            assert answer.getheader("connection") == "close"
            assert json.loads(answer.read()) == {"predictions": [[2, 4]]}
            assert each.recv(1) == b""
            each.close()
        ending.join()


def test_connections_that_are_not_used_are_closed_in_the_end(base, monkeypatch):
    monkeypatch.setattr("stratax.command.serving._server._GRACE_SECONDS", 0.3)
    with serving(base) as server:
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        half = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        half.sendall(REQUEST[:50])
        time.sleep(0.1)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 10
        assert idle.recv(1) == b""
        half.recv(1000)
        idle.close()
        half.close()


def serve(base):
    """Start `stratax serve`; return the process and its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stratax", "serve", "--model", f"m={base}", "--port", "0"],
        stderr=subprocess.PIPE,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"},
        cwd=CHECKOUT,
        text=True,
    )
    for line in process.stderr:
        if "listening on" in line:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return process, int(line.rpartition(":")[2])
    raise AssertionError(process.wait())


@pytest.mark.stress
def test_no_request_of_thousands_is_lost_at_sigterm(base):
    total = 0
    for _ in range(6):
        process, port = serve(base)
        total += asked_until_it_ends(port, process.terminate, 3.0)
        assert process.wait(60) == 0
    print(f"{total} requests answered")
    assert total > 600
