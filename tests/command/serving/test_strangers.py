"""Who connects and says little, slowly, or something else keeps nobody else from being answered."""

import errno
import http.client
import json
import socket
import ssl
import time

import pytest

from stratax.command.serving import _server
from tests.command.serving.serving import ask, predict, serving, write
from tests.command.serving.test_limits import HEAD, ROW, certificate

BODY = HEAD + "Content-Length: 30\r\n\r\n{"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("strangers")
    write(base / "1", 2)
    return base


def connect(server, text=""):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(text.encode())
    return connection


def answer_of(connection):
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status, json.loads(answer.read())


def is_closed(connection):
    """Return whether the other side has closed a connection; wait for it."""
    try:
        return connection.recv(1000) == b""
    except ConnectionError:
        return True


def test_bodies_that_come_slowly_take_no_turns(base):
    with serving(base, max_requests=2) as server:
        slow = [connect(server, BODY) for _ in range(8)]
        end = time.monotonic() + 10
        while b"pending_requests 9.0" not in ask(server, "GET", "/metrics")[1]:
            assert time.monotonic() < end
        assert predict(server, ROW) == (200, {"predictions": [[2, 4]]})
        for each in slow:
            each.close()


def test_a_body_of_which_nothing_comes_is_given_up(base, monkeypatch):
    monkeypatch.setattr("stratax.command.serving._application._STALL_SECONDS", 0.2)
    monkeypatch.setattr("stratax.command.serving._application._DISCARD_SECONDS", 0.05)
    with serving(base) as server, connect(server, BODY) as connection:
        assert answer_of(connection) == (408, {"error": "Nothing came of the body for 0.2 s."})


def test_connections_that_say_nothing_are_many(base):
    with serving(base) as server:
        held = [connect(server) for _ in range(400)]
        held += [connect(server, HEAD) for _ in range(400)]
        began = time.monotonic()
        assert predict(server, ROW)[0] == 200
        assert time.monotonic() - began < 5
        for each in held:
            each.close()


def test_tls_that_is_never_agreed_on_is_given_up(base, tmp_path, monkeypatch):
    monkeypatch.setattr("stratax.command.serving._server._HEAD_SECONDS", 0.3)
    certificate(tmp_path)
    files = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    with serving(base, **files) as server:
        silent = connect(server)
        # Not TLS, TLS that is not completed, and a client that trusts others only.
        assert is_closed(connect(server, "GET /healthz HTTP/1.1\r\n\r\n"))
        half = connect(server)
        half.sendall(b"\x16\x03\x01\x02\x00\x01")
        with pytest.raises(ssl.SSLError), connect(server) as raw:
            ssl.create_default_context().wrap_socket(raw, server_hostname="127.0.0.1")
        began = time.monotonic()
        assert is_closed(silent)
        assert is_closed(half)
        assert time.monotonic() - began < 10
        trusting = ssl.create_default_context(cafile=files["tls_cert"])
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusting, timeout=20)
        connection.request("POST", "/v1/models/m:predict", json.dumps(ROW))
        assert connection.getresponse().status == 200
        connection.close()


def test_connections_are_counted_before_tls_is_agreed_on(base, tmp_path, monkeypatch):
    monkeypatch.setattr("stratax.command.serving._server._MORE_CONNECTIONS", 1)
    certificate(tmp_path)
    files = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    with serving(base, max_connections=2, **files) as server:
        held = [connect(server) for _ in range(3)]
        assert is_closed(connect(server))
        for each in held:
            each.close()
        end = time.monotonic() + 10
        context = ssl.create_default_context(cafile=files["tls_cert"])
        while True:
            try:
                connection = http.client.HTTPSConnection(
                    "127.0.0.1", server.port, context=context, timeout=20
                )
                connection.request("GET", "/healthz")
                assert connection.getresponse().status == 200
                connection.close()
                break
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.05)


def test_a_process_without_files_left_closes_what_comes(monkeypatch):
    listener = _server._Listener(10, socket.create_server(("127.0.0.1", 0)))
    accept, failed = socket.socket.accept, []

    def without_files(self):
        if not failed:
            failed.append(self)
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", without_files)
    with socket.create_connection(listener.getsockname()) as connection:
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert is_closed(connection)
    with socket.create_connection(listener.getsockname()):
        listener.accept()[0].close()
    listener.close()
