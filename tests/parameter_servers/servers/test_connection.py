"""A connection to a server: cut off, begun anew, without an answer."""

import socket
import socketserver
import threading
import time

import numpy as np
import pytest

from stratax.errors import ClusterTimeoutError, PeerLostError
from stratax.parameter_servers.servers import Connection, Deadlines, Shards, ShardServer, issue
from tests.parameter_servers.servers.test_server import KEY, Wire, adding, pulled


@pytest.fixture(scope="module")
def certificates():
    return issue(KEY)


@pytest.fixture
def server(certificates):
    server = ShardServer("127.0.0.1", 0, certificates)
    yield server
    server.close()


@pytest.fixture
def connect(certificates):
    deadlines = Deadlines()
    made = []

    def connect(port, *, task="worker 0", certificates=certificates, **arguments):
        connection = Connection(
            "/job:ps/task:0", f"127.0.0.1:{port}", certificates, deadlines, task=task, **arguments
        )
        made.append(connection)
        return connection

    yield connect
    for connection in made:
        connection.close()
    deadlines.close()


def test_a_push_whose_answer_is_cut_off_is_applied_once(server, connect):
    wire = Wire(server.port)
    connection = connect(wire.address)
    connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3, "float32")])
    connection.ask({"op": "define", "update": "add", "replaced": ["w"], "read": []}, [adding(3)])
    for count in range(1, 6):
        wire.cut_after = 0
        answer = connection.ask({"op": "apply", "update": "add"}, [np.ones(3, "float32")])
        assert answer.header["versions"] == {"w": count}
    assert wire.num_cuts == 5
    assert server.shards.num_applied("add") == 5
    assert pulled(connection).tolist() == [5.0] * 3
    wire.close()


def test_a_server_that_was_started_anew_is_told_from_the_old_one(certificates, connect):
    first = ShardServer("127.0.0.1", 0, certificates)
    wire = Wire(first.port)
    connection = connect(wire.address)
    connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3)])
    second = ShardServer("127.0.0.1", 0, certificates)
    wire.port = second.port
    wire.cut_after = 0
    with pytest.raises(
        PeerLostError, match="was started anew: what it kept, variables for instance, is gone"
    ):
        pulled(connection)
    wire.close()
    first.close()
    second.close()


def test_a_server_that_does_not_answer_is_named_in_time(certificates, connect):
    class Slow(Shards):
        def assign(self, names, values):
            released.wait(30)
            return super().assign(names, values)

    released = threading.Event()
    server = ShardServer("127.0.0.1", 0, certificates, Slow())
    connection = connect(server.port, timeout=1.0)
    connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3)])
    started = time.monotonic()
    with pytest.raises(
        ClusterTimeoutError, match=r"/job:ps/task:0 at 127.0.0.1:\d+ did not answer within 1 s"
    ):
        connection.ask({"op": "assign", "names": ["w"]}, [np.ones(3)])
    assert time.monotonic() - started < 10
    released.set()
    server.close()


def test_a_server_that_is_not_there_is_named(connect):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(PeerLostError, match=rf"at 127.0.0.1:{port} can't be reached"):
        pulled(connect(port, patience=0.5))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_a_server_that_starts_late_is_waited_for_longer_than_for_an_answer(
    certificates, connect, monkeypatch, caplog
):
    monkeypatch.setattr("stratax.parameter_servers.servers._connection._TELL_SECONDS", 0.5)
    port, servers = free_port(), []
    start = threading.Timer(2.0, lambda: servers.append(ShardServer("127.0.0.1", port, certificates)))
    start.start()
    connection = connect(port, timeout=1.0)
    connection.ask({"op": "streams"})
    start.join()
    servers[0].close()
    told = [record.getMessage() for record in caplog.records if "is waited for" in record.getMessage()]
    assert 1 <= len(told) <= 4
    assert f"/job:ps/task:0 at 127.0.0.1:{port} can't be reached since" in told[0]
    assert "up to 3600 s (STRATAX_START_TIMEOUT)" in told[0]


def test_the_environment_says_how_long_a_server_may_come_late(connect, monkeypatch):
    monkeypatch.setenv("STRATAX_START_TIMEOUT", "0.5")
    with pytest.raises(
        PeerLostError, match=r"can't be reached since [0-9] s.*more time with STRATAX_START_TIMEOUT"
    ):
        pulled(connect(free_port()))


def test_another_program_at_the_address_is_not_waited_for_as_long(connect, monkeypatch):
    monkeypatch.setattr("stratax.parameter_servers.servers._connection._REFUSED_SECONDS", 0.5)

    class Other(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.sendall(b"220 ready\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Other) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(PeerLostError, match="can't be reached since"):
            pulled(connect(other.server_address[1]))
        assert time.monotonic() - began < 20
        other.shutdown()


def test_a_stream_that_the_server_has_ended_in_good_order_is_opened_again(certificates, connect):
    class Ending(ShardServer):
        num_ended = 0

        def _converse(self, sender, reader, writer):
            if self.num_ended < 3:
                self.num_ended += 1
                return
            super()._converse(sender, reader, writer)

    server = Ending("127.0.0.1", 0, certificates)
    connection = connect(server.port)
    large = np.ones(4 << 20, "float32")
    assert connection.ask({"op": "create", "names": ["w"]}, [large]).header["created"] == [True]
    assert server.num_ended == 3
    server.close()
