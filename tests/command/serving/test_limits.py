"""Who sends too much, too slowly, too often or without leave is told so, and all others are answered."""

import datetime
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time

import pytest

from stratax.errors import BadArgumentError
from stratax.export import LoadedProgram
from tests.command.serving.serving import ask, predict, serving, write

ROW = {"instances": [[1, 2]]}
HEAD = "POST /v1/models/m:predict HTTP/1.1\r\nHost: here\r\n"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("limited")
    write(base / "1", 2)
    return base


@pytest.fixture
def held(monkeypatch):
    """Have programs wait once the event is cleared."""
    goes = threading.Event()
    goes.set()
    call = LoadedProgram.__call__

    def waiting(self, arrays):
        goes.wait(20)
        return call(self, arrays)

    monkeypatch.setattr(LoadedProgram, "__call__", waiting)
    yield goes
    goes.set()


@pytest.fixture(autouse=True)
def little_patience(monkeypatch):
    """How long the rest of a body is waited for that never comes."""
    monkeypatch.setattr("stratax.command.serving._application._DISCARD_SECONDS", 0.05)


def sent(server, *pieces):
    """Return the status and values of what a server answers to bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        for piece in pieces:
            connection.sendall(piece.encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, json.loads(answer.read())


def test_bodies_that_are_too_large_or_packed_are_refused(base):
    with serving(base, max_body_bytes=1000) as server:
        code, answer = predict(server, b" " * 5_000_000, raw=True)
        assert (code, answer) == (413, {"error": "The body is too large. Expected: at most 1000 bytes."})
        chunk = f"{500:x}\r\n{' ' * 500}\r\n"
        assert sent(server, HEAD + "Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 4, "0\r\n\r\n")[0] == 413
        assert predict(server, ROW, headers={"content-encoding": "gzip"})[0] == 415
        assert predict(server, ROW)[0] == 200


def test_rows_are_counted(base):
    with serving(base, max_rows=3) as server:
        code, answer = predict(server, {"instances": [[1, 2]] * 4})
        assert code == 400
        assert "at most 3" in answer["error"]


def test_more_bytes_than_may_be_worked_on_wait_outside(base, held):
    with serving(base, max_body_bytes=1000, max_pending_bytes=1000) as server:
        held.clear()
        first = threading.Thread(
            target=predict, args=(server, json.dumps(ROW) + " " * 900), kwargs={"raw": True}
        )
        first.start()
        body = json.dumps(ROW) + " " * 200
        # Also the request that asks is counted.
        wait_until(lambda: b"pending_requests 2.0" in ask(server, "GET", "/metrics")[1])
        code, answer = predict(server, body, raw=True)
        assert (code, answer) == (503, {"error": "The server is busy with other large requests."})
        held.set()
        first.join()
        assert predict(server, body, raw=True)[0] == 200


def wait_until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_more_requests_than_may_be_worked_on_are_turned_away(base, held):
    with serving(base, max_requests=2, max_batch=1) as server:
        held.clear()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(predict(server, ROW))) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: ask(server, "GET", "/v1/models/m")[0] == 503)
        held.set()
        for thread in threads:
            thread.join()
        assert [code for code, _ in answers] == [200, 200]


def test_an_answer_that_takes_too_long_is_given_up(base, held):
    with serving(base, timeout_seconds=0.3) as server:
        held.clear()
        code, answer = predict(server, ROW)
        assert (code, answer) == (504, {"error": "It took longer than 0.3 s."})
        held.set()
        assert predict(server, ROW)[0] == 200


def test_who_sends_slowly_is_given_up(base, monkeypatch):
    monkeypatch.setattr("stratax.command.serving._server._HEAD_SECONDS", 0.2)
    with serving(base, timeout_seconds=0.3) as server:
        assert sent(server, HEAD + "Content-Length: 30\r\n\r\n", "{")[0] == 408
        assert sent(server, "POST /v1/mod")[0] == 408
        assert sent(server)[0] == 408
        assert predict(server, ROW)[0] == 200


def test_connections_are_counted(base):
    with serving(base, max_connections=3) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        assert sent(server)[0] == 503
        for each in idle:
            each.close()
        wait_until(lambda: predict(server, ROW)[0] == 200)


def test_what_has_begun_is_answered_before_the_end(base, held):
    with serving(base) as server:
        held.clear()
        answers = []
        thread = threading.Thread(target=lambda: answers.append(predict(server, ROW)))
        thread.start()
        time.sleep(0.1)
        ending = threading.Thread(target=server.stop)
        ending.start()
        time.sleep(0.1)
        held.set()
        thread.join()
        ending.join()
    assert answers == [(200, {"predictions": [[2, 4]]})]


def test_a_token_is_asked_for(base):
    with serving(base, token="secret") as server:
        for given in (None, "Bearer other", "Bearer secrets", "Basic secret", "Bearer"):
            headers = {} if given is None else {"authorization": given}
            for path in ("/v1/models/m", "/metrics", "/nowhere"):
                assert ask(server, "GET", path, headers=headers)[0] == 401, (given, path)
            assert predict(server, ROW, headers=headers)[0] == 401, given
        assert ask(server, "GET", "/healthz")[0] == 200
        assert predict(server, ROW, headers={"authorization": "Bearer secret"})[0] == 200


def certificate(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "here")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)


def test_https_is_spoken_with_a_certificate(base, tmp_path):
    certificate(tmp_path)
    files = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "key.pem")}
    with serving(base, **files) as server:
        context = ssl.create_default_context(cafile=files["tls_cert"])
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=20)
        connection.request("POST", "/v1/models/m:predict", json.dumps(ROW))
        assert json.loads(connection.getresponse().read()) == {"predictions": [[2, 4]]}
        connection.close()


def test_a_certificate_that_is_none_is_told(base, tmp_path):
    (tmp_path / "cert.pem").write_text("none")
    files = {"tls_cert": str(tmp_path / "cert.pem"), "tls_key": str(tmp_path / "cert.pem")}
    with pytest.raises(BadArgumentError, match="PEM files that belong together"), serving(base, **files):
        pass
