"""A server does what a task asks once, whatever happens to the connection, and answers nobody without the key."""

import contextlib
import socket
import ssl
import threading
import time

import jax
import numpy as np
import pytest
from jax import export
from pyarrow import flight

from stratax.errors import BadArgumentError, FailedPreconditionError, PeerLostError
from stratax.parameter_servers.servers import Connection, Deadlines, ShardServer, issue

KEY = b"the key of this cluster, 32 byte"


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


def adding(size):
    spec = jax.ShapeDtypeStruct((size,), "float32")
    function = jax.jit(lambda values, others, sent: [values[0] + sent[0]])
    return np.frombuffer(export.export(function)([spec], [], [spec]).serialize(), np.uint8)


def pulled(connection, name="w"):
    return connection.ask({"op": "pull", "names": [name], "known": {}}).arrays[0]


def test_a_task_creates_assigns_updates_and_reads(server, connect):
    connection = connect(server.port)
    assert connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3, "float32")]).header["created"] == [
        True
    ]
    connection.ask({"op": "assign", "names": ["w"]}, [np.ones(3, "float32")])
    connection.ask({"op": "define", "update": "add", "replaced": ["w"], "read": []}, [adding(3)])
    answer = connection.ask({"op": "apply", "update": "add"}, [np.full(3, 2, "float32")])
    assert answer.header["versions"] == {"w": 2}
    assert pulled(connection).tolist() == [3.0] * 3
    unchanged = connection.ask({"op": "pull", "names": ["w"], "known": {"w": 2}})
    assert unchanged.arrays == []
    assert unchanged.header["versions"] == {"w": 2}


def test_an_error_reaches_the_task_and_the_stream_goes_on(server, connect):
    connection = connect(server.port)
    with pytest.raises(FailedPreconditionError, match=r"keeps no variable 'w'.*\(said by /job:ps/task:0\)"):
        pulled(connection)
    with pytest.raises(FailedPreconditionError, match="no update 'u'"):
        connection.ask({"op": "apply", "update": "u"})
    with pytest.raises(BadArgumentError, match="does not know what to do.*op='erase'"):
        connection.ask({"op": "erase"})
    connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3)])
    assert pulled(connection).tolist() == [0.0] * 3


def test_several_servers_compute_at_the_same_time(certificates, connect):
    servers = [ShardServer("127.0.0.1", 0, certificates) for _ in range(2)]
    connections = [connect(server.port) for server in servers]
    for index, connection in enumerate(connections):
        connection.begin({"op": "create", "names": ["w"]}, [np.full(2, index)])
    assert [connection.finish().header["created"] for connection in connections] == [[True], [True]]
    assert [pulled(connection).tolist() for connection in connections] == [[0, 0], [1, 1]]
    for server in servers:
        server.close()


class Wire:
    """Passes a connection on, and cuts it once so many bytes have gone one way."""

    def __init__(self, port):
        self.port = port
        self.cut_after = None
        self.num_cuts = 0
        # What has gone to the server.
        self.sent = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            both = (client, server)
            threading.Thread(target=self._pass, args=(client, server, both, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, both, True), daemon=True).start()

    def _pass(self, source, target, both, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if is_answer and self.cut_after is not None:
                    self.cut_after = None
                    self.num_cuts += 1
                    break
                if not is_answer:
                    self.sent.append(data)
                target.sendall(data)
        for sock in both:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


def test_a_task_that_starts_again_is_another_one(server, connect):
    connect(server.port, task="worker 0, first start").ask({"op": "create", "names": ["w"]}, [np.zeros(3)])
    again = connect(server.port, task="worker 0, second start")
    assert again.ask({"op": "create", "names": ["w"]}, [np.zeros(3)]).header["created"] == [False]


class TestStrangers:
    def refused(self, connect, server, stranger):
        with pytest.raises(PeerLostError, match="has the secret of this cluster"):
            connect(server.port, certificates=stranger, patience=0.5).ask(
                {"op": "create", "names": ["x"]}, [np.zeros(1)]
            )
        assert server.shards.names == []

    def test_another_key_is_refused(self, server, connect):
        self.refused(connect, server, issue(b"another key"))

    def test_a_server_of_another_cluster_is_not_talked_to(self, connect):
        other = ShardServer("127.0.0.1", 0, issue(b"another key"))
        self.refused(connect, other, issue(KEY))
        other.close()

    def test_nobody_gets_in_without_a_certificate(self, server, certificates):
        for arguments in (
            {"tls_root_certs": certificates.authority, "override_hostname": "stratax-cluster"},
            {"disable_server_verification": True},
        ):
            client = flight.FlightClient(f"grpc+tls://127.0.0.1:{server.port}", **arguments)
            with pytest.raises(flight.FlightUnavailableError):
                list(client.list_actions(flight.FlightCallOptions(timeout=5)))
            client.close()
        plain = flight.FlightClient(f"grpc://127.0.0.1:{server.port}")
        with pytest.raises(flight.FlightError):
            list(plain.list_actions(flight.FlightCallOptions(timeout=5)))
        plain.close()

    def test_garbage_and_half_open_connections_do_not_disturb_others(self, server, connect):
        connection = connect(server.port)
        connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3)])
        strangers = []
        for index in range(200):
            stranger = socket.create_connection(("127.0.0.1", server.port))
            stranger.settimeout(5)
            if index % 2:
                with contextlib.suppress(OSError):
                    stranger.sendall(b"\x16\x03\x01" + b"garbage" * 50)
            strangers.append(stranger)
        started = time.monotonic()
        for _ in range(50):
            assert pulled(connection).tolist() == [0.0] * 3
        another = connect(server.port, task="worker 1")
        assert pulled(another).tolist() == [0.0] * 3
        assert time.monotonic() - started < 20
        for stranger in strangers:
            stranger.close()

    def test_strangers_fill_no_log(self, server, capfd):
        for _ in range(20):
            with (
                socket.create_connection(("127.0.0.1", server.port)) as stranger,
                contextlib.suppress(OSError),
            ):
                stranger.settimeout(1)
                stranger.sendall(b"garbage" * 50)
                stranger.recv(100)
        assert capfd.readouterr().err == ""

    def test_a_recorded_connection_is_of_no_use(self, server, connect):
        wire = Wire(server.port)
        connection = connect(wire.address)
        connection.ask({"op": "create", "names": ["w"]}, [np.zeros(3, "float32")])
        connection.ask({"op": "define", "update": "add", "replaced": ["w"], "read": []}, [adding(3)])
        connection.ask({"op": "apply", "update": "add"}, [np.ones(3, "float32")])
        with socket.create_connection(("127.0.0.1", server.port)) as replay:
            replay.settimeout(2)
            for data in wire.sent:
                with contextlib.suppress(OSError):
                    replay.sendall(data)
            with contextlib.suppress(OSError):
                while replay.recv(65536):
                    pass
        assert server.shards.num_applied("add") == 1
        assert b"update" not in b"".join(wire.sent), "What travels is encrypted."
        wire.close()


def test_a_certificate_is_accepted_by_openssl_too(server, certificates, tmp_path):
    for name in ("authority", "own", "private_key"):
        (tmp_path / name).write_bytes(getattr(certificates, name))
    context = ssl.create_default_context(cafile=str(tmp_path / "authority"))
    context.load_cert_chain(tmp_path / "own", tmp_path / "private_key")
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="stratax-cluster") as wrapped,
    ):
        assert wrapped.selected_alpn_protocol() == "h2"
