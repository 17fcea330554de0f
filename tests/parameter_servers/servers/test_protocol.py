"""Greetings and errors of another version."""

import contextlib

import pytest
from pyarrow import flight

from stratax.errors import InternalError
from stratax.parameter_servers.servers import ShardServer, issue
from tests.parameter_servers.servers.test_server import KEY


@pytest.fixture(scope="module")
def certificates():
    return issue(KEY)


@pytest.fixture
def server(certificates):
    server = ShardServer("127.0.0.1", 0, certificates)
    yield server
    server.close()


def test_a_greeting_of_another_version_is_told(server, certificates):
    client = flight.FlightClient(
        f"grpc+tls://127.0.0.1:{server.port}",
        tls_root_certs=certificates.authority,
        cert_chain=certificates.own,
        private_key=certificates.private_key,
        override_hostname="stratax-cluster",
    )
    for greeting, reason in (
        (b'{"protocol": 99, "task": "a", "stream": 0}', "Run the same version of Stratax"),
        (b"[" * 3000, "begins with the task's name"),
        (b"x" * 5000, "A greeting is short"),
    ):
        writer, reader = client.do_exchange(flight.FlightDescriptor.for_command(greeting))
        assert reason in reader.read_chunk().app_metadata.to_pybytes().decode()
        with contextlib.suppress(flight.FlightError):
            writer.close()
    client.close()


def test_an_error_of_no_name_is_told_as_internal():
    from stratax.parameter_servers.servers import _protocol

    with pytest.raises(InternalError, match="KeyError: 'x'"):
        _protocol.raise_error(_protocol.error_header(KeyError("x")), "ps 0")
